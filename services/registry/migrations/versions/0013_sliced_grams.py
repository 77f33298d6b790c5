"""Store log filters by slice; in older objects, every part is searched."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The old columns stay for replicas that still write them.
    op.execute(
        "ALTER TABLE registry.log_objects ADD COLUMN slice_bits int, ADD COLUMN slices int, ADD COLUMN sliced_grams bytea"
    )
    # Uncompressed, so that one byte of a filter can be read without the rest.
    op.execute("ALTER TABLE registry.log_objects ALTER COLUMN sliced_grams SET STORAGE EXTERNAL")
