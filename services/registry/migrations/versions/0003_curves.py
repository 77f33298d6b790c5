"""Store slots, duration and outcome of runs, and index trials by code: inputs of cost estimates."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE registry.runs ADD COLUMN granted_at timestamptz, ADD COLUMN slots double precision,"
        " ADD COLUMN outcome text"
    )
    op.execute(
        "CREATE INDEX trials_by_code ON registry.trials (tenant, code_hash) WHERE code_hash IS NOT NULL"
    )
