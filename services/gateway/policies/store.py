"""Reads and writes policies and templates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment
from services.gateway.policies.core import PolicyRules
from services.gateway.policies.tables import policy, template
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

TEMPLATES = Cells(template, {"workspace": func.nullif(template.c.workspace, "")})
"""Columns that lists of templates filter and sort by."""
_held = policy.alias("held")
_OF_EXPERIMENT = (
    select(func.json_agg(aggregate_order_by(_held.table_valued(), _held.c.workspace.desc())))
    .where(or_(_held.c.workspace == "", _held.c.workspace == experiment.c.workspace))
    .scalar_subquery()
    .label("policies")
)


async def load_policies(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Load the tenant's policy first, then the policies of its workspaces by name."""
    return (await connection.execute(select(policy).order_by(policy.c.workspace))).all()


async def find_policy(connection: AsyncConnection, workspace: str) -> Row[Any] | None:
    return (await connection.execute(select(policy).where(policy.c.workspace == workspace))).one_or_none()


async def load_held(connection: AsyncConnection, reference: int | UUID) -> Row[Any] | None:
    """Load an experiment by number or id; its column `policies` holds the policies that apply (input of `read_policies`; None without any)."""
    column = experiment.c.number if isinstance(reference, int) else experiment.c.id
    query = select(experiment, _OF_EXPERIMENT).where(column == reference)
    return (await connection.execute(query)).one_or_none()


async def load_binding_policies(connection: AsyncConnection, workspace: str) -> tuple[PolicyRules, ...]:
    """Load the policies that apply in a workspace: the workspace's first, then the tenant's, which takes precedence."""
    query = select(policy).where(policy.c.workspace.in_(("", workspace))).order_by(policy.c.workspace.desc())
    return read_policies(row._mapping for row in await connection.execute(query))


def read_policies(rows: Iterable[Mapping[Any, Any]]) -> tuple[PolicyRules, ...]:
    """Convert rows to policies, in the same order."""
    return tuple(
        PolicyRules(
            row["workspace"] or None, row["invariant_config"], row["max_slots"], row["priority_limit"]
        )
        for row in rows
    )


async def save_policy(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a policy or replace the previous one."""
    statement = upsert(policy).values(**values)
    changed = {name: value for name, value in values.items() if name not in ("tenant", "workspace")}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["tenant", "workspace"], set_=changed)
    )


async def delete_policy(connection: AsyncConnection, tenant: UUID, workspace: str) -> None:
    await connection.execute(delete(policy).where(policy.c.tenant == tenant, policy.c.workspace == workspace))


async def find_template(connection: AsyncConnection, name: str) -> Row[Any] | None:
    return (await connection.execute(select(template).where(template.c.name == name))).one_or_none()


async def lock_template(connection: AsyncConnection, name: str) -> None:
    """Lock a template until the transaction ends, so that concurrent changes apply one after another."""
    query = select(template.c.name).where(template.c.name == name)
    await connection.execute(query.with_for_update())


async def load_templates(connection: AsyncConnection, wanted: ListQuery) -> RowPage:
    return await load_part(connection, select(template), TEMPLATES, wanted)


async def insert_template(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Insert a template. Return False if the name is taken."""
    statement = upsert(template).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def save_template(connection: AsyncConnection, name: str, values: Mapping[str, Any]) -> None:
    await connection.execute(update(template).where(template.c.name == name).values(**values))


async def delete_template(connection: AsyncConnection, name: str) -> None:
    await connection.execute(delete(template).where(template.c.name == name))
