"""Add filters shared by several log objects; older objects are added to one over time."""

from alembic import op

from shared.database.engine import protect

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE registry.log_filters (id uuid PRIMARY KEY, tenant uuid NOT NULL, bits int NOT NULL,"
        " width int NOT NULL, grams bytea NOT NULL)"
    )
    # Uncompressed, so that one position of a filter can be read without the rest.
    op.execute("ALTER TABLE registry.log_filters ALTER COLUMN grams SET STORAGE EXTERNAL")
    protect(op, "registry", "log_filters")
    op.execute("ALTER TABLE registry.log_objects ADD COLUMN shared_filter uuid, ADD COLUMN shared_from int")
    op.execute(
        "CREATE INDEX log_objects_sharing ON registry.log_objects (shared_filter) WHERE shared_filter IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX log_objects_alone ON registry.log_objects (trial)"
        " WHERE state = 'kept' AND has_words AND shared_filter IS NULL"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
