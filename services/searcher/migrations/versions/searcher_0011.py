"""Saved states of long searches, so that a restart need not replay their journals from the start."""

from alembic import op

from shared.database.engine import protect

revision = "searcher_0011"
down_revision = "searcher_0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE searcher.snapshot (tenant uuid NOT NULL, experiment uuid PRIMARY KEY, position bigint NOT NULL,"
        " code text NOT NULL, state bytea NOT NULL)"
    )
    protect(op, "searcher", "snapshot")


def downgrade() -> None:
    op.execute("DROP TABLE searcher.snapshot")
