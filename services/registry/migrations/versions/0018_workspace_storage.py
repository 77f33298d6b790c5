"""Count the bytes that each workspace stores: distinct contents of its experiments' checkpoints, and their media."""

from alembic import op

from shared.database.engine import protect

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

READ = ("experiments", "checkpoints", "checkpoint_files", "objects", "media_packs")
HELD = """
INSERT INTO registry.workspace_objects (tenant, workspace, key, size_bytes)
SELECT DISTINCT e.tenant, e.workspace, o.key, o.size_bytes FROM registry.checkpoints c
JOIN registry.experiments e ON e.id = c.experiment AND e.workspace IS NOT NULL
JOIN registry.checkpoint_files f ON f.checkpoint = c.id
JOIN registry.objects o ON o.key = f.key
WHERE c.state NOT IN ('announced', 'uploading', 'committing', 'deleted')
"""
USED = """
INSERT INTO registry.workspace_storage (tenant, workspace, used_bytes)
SELECT tenant, workspace, sum(size_bytes) FROM (
    SELECT tenant, workspace, size_bytes FROM registry.workspace_objects
    UNION ALL SELECT tenant, workspace, size_bytes FROM registry.media_packs WHERE state = 'kept' AND workspace IS NOT NULL) b
GROUP BY tenant, workspace
"""


def upgrade() -> None:
    op.execute(
        """CREATE TABLE registry.workspace_storage (
            tenant uuid NOT NULL, workspace text NOT NULL, used_bytes bigint NOT NULL DEFAULT 0, maximum_bytes bigint,
            version bigint NOT NULL DEFAULT 0, PRIMARY KEY (tenant, workspace))"""
    )
    op.execute(
        """CREATE TABLE registry.workspace_objects (
            tenant uuid NOT NULL, workspace text NOT NULL, key text NOT NULL, size_bytes bigint NOT NULL,
            PRIMARY KEY (tenant, workspace, key))"""
    )
    op.execute("ALTER TABLE registry.media_packs ADD COLUMN workspace text")
    # Row-level security applies to the owner too, who has no tenant.
    for table in READ:
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE registry.media_packs p SET workspace = e.workspace FROM registry.experiments e"
        " WHERE e.id = p.experiment AND p.state = 'kept'"
    )
    op.execute(HELD)
    op.execute(USED)
    for table in READ:
        op.execute(f"ALTER TABLE registry.{table} FORCE ROW LEVEL SECURITY")
    for table in ("workspace_storage", "workspace_objects"):
        protect(op, "registry", table)
