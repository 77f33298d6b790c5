"""Retention rules of tenants and workspaces, and the days that apply to an experiment together with its config's."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Integer, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import experiments, retention
from shared.messages.retention import RetentionRule

WHOLE_TENANT = ""
"""Workspace of the tenant's own rule."""
DAYS = ("metric_detail_days", "metric_retention_days", "log_retention_days")

_OF_WORKSPACE = retention.alias("of_workspace")
_OF_TENANT = retention.alias("of_tenant")
_LIMITS = (experiments, _OF_WORKSPACE, _OF_TENANT)
"""Without a rule its days are NULL. Experiments older than the workspace column have only the tenant's rule."""
DETAIL_DAYS: ColumnElement[int | None] = func.coalesce(*(limit.c.metric_detail_days for limit in _LIMITS))
METRIC_DAYS: ColumnElement[int | None] = func.least(
    *(limit.c.metric_retention_days for limit in _LIMITS), type_=Integer
)
LOG_DAYS: ColumnElement[int | None] = func.least(
    *(limit.c.log_retention_days for limit in _LIMITS), type_=Integer
)


def with_rules(joined: FromClause, tenant: ColumnElement[UUID]) -> FromClause:
    """Join the rules that apply to a tenant's rows, which are joined to `experiments`."""
    of_workspace = (_OF_WORKSPACE.c.tenant == tenant) & (_OF_WORKSPACE.c.workspace == experiments.c.workspace)
    of_tenant = (_OF_TENANT.c.tenant == tenant) & (_OF_TENANT.c.workspace == WHOLE_TENANT)
    return joined.outerjoin(_OF_WORKSPACE, of_workspace).outerjoin(_OF_TENANT, of_tenant)


async def load_rules(connection: AsyncConnection) -> Sequence[RetentionRule]:
    """Return the rules of the connection's tenant: its own, then its workspaces' by name."""
    columns = (retention.c.workspace, *(retention.c[name] for name in DAYS))
    rows = await connection.execute(select(*columns).order_by(retention.c.workspace))
    return [
        RetentionRule(workspace=workspace or None, **dict(zip(DAYS, days, strict=True)))
        for workspace, *days in rows
    ]


async def save_rule(connection: AsyncConnection, tenant: UUID, rule: RetentionRule) -> None:
    """Insert or replace a rule."""
    days = {name: getattr(rule, name) for name in DAYS}
    made = insert(retention).values(tenant=tenant, workspace=rule.workspace or WHOLE_TENANT, **days)
    await connection.execute(made.on_conflict_do_update(index_elements=["tenant", "workspace"], set_=days))


async def delete_rule(connection: AsyncConnection, workspace: str | None) -> None:
    """Delete the rule of a workspace of the connection's tenant, or the tenant's own."""
    await connection.execute(delete(retention).where(retention.c.workspace == (workspace or WHOLE_TENANT)))
