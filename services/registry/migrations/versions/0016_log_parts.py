"""Where the parts of an object with log lines begin, and a filter that knows smaller ones; objects made before are fetched whole."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The filter has columns of its own: a replica of before would take one of more than eight slices for empty.
    op.execute(
        "ALTER TABLE registry.log_objects ADD COLUMN part_lines bigint, ADD COLUMN part_offsets bigint[],"
        " ADD COLUMN part_bits int, ADD COLUMN part_slices int, ADD COLUMN part_grams bytea"
    )
    op.execute("ALTER TABLE registry.log_objects ALTER COLUMN part_grams SET STORAGE EXTERNAL")
