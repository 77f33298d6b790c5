"""Store part offsets of log objects, and a finer filter; older objects are fetched whole."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # New columns for the filter: an older replica would read one with more than eight slices as empty.
    op.execute(
        "ALTER TABLE registry.log_objects ADD COLUMN part_lines bigint, ADD COLUMN part_offsets bigint[],"
        " ADD COLUMN part_bits int, ADD COLUMN part_slices int, ADD COLUMN part_grams bytea"
    )
    op.execute("ALTER TABLE registry.log_objects ALTER COLUMN part_grams SET STORAGE EXTERNAL")
