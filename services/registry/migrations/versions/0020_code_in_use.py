"""Store each experiment's code hash, and since when an archive has been unused, so that unused archives can be deleted.

For archives from before this revision the last request is unknown: they are kept until they are requested again.
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.experiments ADD COLUMN code_hash text")
    op.execute(
        "ALTER TABLE registry.artifacts ADD COLUMN asked_at timestamptz, ADD COLUMN unused_since timestamptz"
    )
    op.execute(
        "CREATE INDEX experiments_by_code ON registry.experiments (tenant, code_hash) WHERE code_hash IS NOT NULL"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
