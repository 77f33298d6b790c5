"""Create the table of the digests that experiments' images have."""

from alembic import op

from shared.database.engine import protect

revision = "registry_0003"
down_revision = "registry_0002"
branch_labels = None
depends_on = None
compatible_from = "registry_0001"


def upgrade() -> None:
    op.execute(
        """CREATE TABLE registry.experiment_image (
            experiment uuid NOT NULL, image text NOT NULL, tenant uuid NOT NULL, digest text NOT NULL,
            run uuid NOT NULL, resolved_at timestamptz NOT NULL, PRIMARY KEY (experiment, image))"""
    )
    protect(op, "registry", "experiment_image")
