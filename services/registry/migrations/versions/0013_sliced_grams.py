"""The filter of an object's letters says in which part of it they may be; of objects made before, every part is looked through."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The columns of before stay for replicas that still write them.
    op.execute(
        "ALTER TABLE registry.log_objects ADD COLUMN slice_bits int, ADD COLUMN slices int, ADD COLUMN sliced_grams bytea"
    )
    # Not compressed, so that one byte of a filter is read without the rest of it.
    op.execute("ALTER TABLE registry.log_objects ALTER COLUMN sliced_grams SET STORAGE EXTERNAL")
