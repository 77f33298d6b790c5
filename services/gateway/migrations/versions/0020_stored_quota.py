"""Add storage quotas of workspaces. The version tells the registry which announcement is newer."""

from alembic import op

revision = "gateway_0020"
down_revision = "gateway_0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE gateway.quota ADD COLUMN max_stored_bytes bigint, ADD COLUMN version bigint NOT NULL DEFAULT 0"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
