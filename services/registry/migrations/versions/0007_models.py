"""Add workspaces, notes, tags and aliases to models; stages to versions; deletion of both; datasets and consumers for lineage."""

from alembic import op

from shared.database.engine import protect

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """ALTER TABLE registry.models
            ADD COLUMN workspace text NOT NULL DEFAULT 'Uncategorized', ADD COLUMN notes text NOT NULL DEFAULT '',
            ADD COLUMN tags text[] NOT NULL DEFAULT '{}', ADD COLUMN approvals jsonb NOT NULL DEFAULT '{}',
            ADD COLUMN aliases jsonb NOT NULL DEFAULT '{}', ADD COLUMN changed_by text,
            ADD COLUMN deleted_at timestamptz, ADD COLUMN deleted_reason text,
            DROP CONSTRAINT models_tenant_key_key"""
    )
    # The name of a deleted model can be reused.
    op.execute(
        "CREATE UNIQUE INDEX models_by_key ON registry.models (tenant, workspace, key) WHERE deleted_at IS NULL"
    )
    op.execute(
        """ALTER TABLE registry.versions
            ADD COLUMN version bigint NOT NULL DEFAULT 1, ADD COLUMN notes text NOT NULL DEFAULT '',
            ADD COLUMN tags text[] NOT NULL DEFAULT '{}', ADD COLUMN signature jsonb,
            ADD COLUMN stage text NOT NULL DEFAULT 'none', ADD COLUMN pending jsonb,
            ADD COLUMN stages jsonb NOT NULL DEFAULT '[]', ADD COLUMN changed_by text,
            ADD COLUMN deleted_at timestamptz, ADD COLUMN deleted_reason text"""
    )
    op.execute(
        """ALTER TABLE registry.experiments
            ADD COLUMN number int, ADD COLUMN name text, ADD COLUMN datasets jsonb NOT NULL DEFAULT '[]'"""
    )
    op.execute("ALTER TABLE registry.trials ADD COLUMN number int")
    op.execute(
        "CREATE INDEX experiments_by_datasets ON registry.experiments USING gin (datasets jsonb_path_ops)"
    )
    op.execute(
        "CREATE INDEX trials_by_start_ever ON registry.trials (start_checkpoint) WHERE start_checkpoint IS NOT NULL"
    )
    # Uses of a version: `kind` is inference, evaluation or similar, `reference` the consumer's id.
    op.execute(
        """CREATE TABLE registry.consumers (
            id uuid PRIMARY KEY, tenant uuid NOT NULL, version uuid NOT NULL, kind text NOT NULL, reference text NOT NULL,
            by text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', at timestamptz NOT NULL,
            UNIQUE (version, kind, reference))"""
    )
    protect(op, "registry", "consumers")
