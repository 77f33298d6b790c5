"""Add media packs in the object store, and the catalogue of their items."""

from alembic import op

from shared.database.engine import protect

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

PACKS = """CREATE TABLE registry.media_packs (
    id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, trial uuid NOT NULL, run uuid NOT NULL,
    number bigint, state text NOT NULL DEFAULT 'sending', size_bytes bigint NOT NULL, sha256 text NOT NULL,
    created_at timestamptz NOT NULL)"""
MEDIA = """CREATE TABLE registry.media (
    trial uuid NOT NULL, pack bigint NOT NULL, place int NOT NULL, tenant uuid NOT NULL, pack_id uuid NOT NULL, run uuid NOT NULL,
    kind text NOT NULL, "group" text NOT NULL, name text NOT NULL, step bigint NOT NULL, time_ms bigint NOT NULL,
    content_type text NOT NULL, "offset" bigint NOT NULL, size_bytes bigint NOT NULL, sha256 text NOT NULL, about jsonb NOT NULL,
    PRIMARY KEY (trial, pack, place))"""


def upgrade() -> None:
    op.execute(PACKS)
    op.execute(
        "CREATE UNIQUE INDEX media_packs_by_trial ON registry.media_packs (trial, number) WHERE number IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX media_packs_unsettled ON registry.media_packs (created_at) WHERE state <> 'kept'"
    )
    op.execute(
        "CREATE INDEX media_packs_by_age ON registry.media_packs (experiment, created_at) WHERE state = 'kept'"
    )
    op.execute(MEDIA)
    op.execute("CREATE INDEX media_by_kind ON registry.media (trial, kind, pack, place)")
    op.execute("CREATE INDEX media_by_name ON registry.media (trial, name, step)")
    for table in ("media_packs", "media"):
        protect(op, "registry", table)
