"""Rules of a tenant and its workspaces on how long things are kept, and which days hold for an experiment beside its config's."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import retention
from shared.messages.retention import RetentionRule

WHOLE_TENANT = ""
"""The workspace of a rule that is the tenant's."""
DAYS = ("metric_detail_days", "metric_retention_days", "log_retention_days")

RULES = f"""
LEFT JOIN registry.retention w ON w.tenant = {{tenant}} AND w.workspace = {{workspace}}
LEFT JOIN registry.retention t ON t.tenant = {{tenant}} AND t.workspace = '{WHOLE_TENANT}'
"""
"""To be joined to an experiment `e`; NULL where there is no rule. An experiment of before workspaces were kept has the tenant's alone."""
DETAIL_DAYS = "coalesce(e.metric_detail_days, w.metric_detail_days, t.metric_detail_days)"
METRIC_DAYS = "least(e.metric_retention_days, w.metric_retention_days, t.metric_retention_days)"
LOG_DAYS = "least(e.log_retention_days, w.log_retention_days, t.log_retention_days)"


async def load_rules(connection: AsyncConnection) -> Sequence[RetentionRule]:
    """Return the rules of the connection's tenant: its own, then its workspaces' by name."""
    columns = (retention.c.workspace, *(retention.c[name] for name in DAYS))
    rows = await connection.execute(select(*columns).order_by(retention.c.workspace))
    return [
        RetentionRule(workspace=workspace or None, **dict(zip(DAYS, days, strict=True)))
        for workspace, *days in rows
    ]


async def save_rule(connection: AsyncConnection, tenant: UUID, rule: RetentionRule) -> None:
    """Put a rule in the place of the one before."""
    days = {name: getattr(rule, name) for name in DAYS}
    made = insert(retention).values(tenant=tenant, workspace=rule.workspace or WHOLE_TENANT, **days)
    await connection.execute(made.on_conflict_do_update(index_elements=["tenant", "workspace"], set_=days))


async def delete_rule(connection: AsyncConnection, workspace: str | None) -> None:
    """Take the rule of a workspace of the connection's tenant away, or the tenant's own."""
    await connection.execute(delete(retention).where(retention.c.workspace == (workspace or WHOLE_TENANT)))
