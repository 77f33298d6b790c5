"""Count media packs per trial, and record uploads of artifacts before they arrive."""

from alembic import op

from shared.database.engine import protect

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.trials ADD COLUMN media_packs bigint NOT NULL DEFAULT 0")
    op.execute(
        """CREATE TABLE registry.artifact_uploads (
            key text PRIMARY KEY, tenant uuid NOT NULL, asked_at timestamptz NOT NULL, is_going boolean NOT NULL DEFAULT false)"""
    )
    op.execute("CREATE INDEX artifact_uploads_by_age ON registry.artifact_uploads (asked_at)")
    protect(op, "registry", "artifact_uploads")
