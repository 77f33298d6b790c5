"""Stored pools with their policies, and quotas."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.records.labels import labels_of
from services.scheduler.core.state.records.pool import Path, PoolPolicy, Quota
from services.scheduler.store.pool_rules import rules_of, with_rules
from services.scheduler.store.rows import Row
from services.scheduler.store.tables import pool, quota
from shared.ids import PoolName, TenantId
from shared.messages.pools import PoolRules

_COLUMNS = {"preemption", "default_priority"}
"""Policies stored in separate columns, which are older than the JSON column."""


async def save_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Store a pool's policy from the settings, unless it was edited. The provider's limits are stored separately."""
    row = _pool_row(policy)
    save = insert(pool).values(row)
    changed = {name: save.excluded[name] for name in row if name != "name"}
    await connection.execute(
        save.on_conflict_do_update(index_elements=["name"], set_=changed, where=~pool.c.is_edited)
    )


async def add_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Store a new pool; a known one is left unchanged."""
    await connection.execute(insert(pool).values(_pool_row(policy)).on_conflict_do_nothing())


async def edit_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Store an edited policy."""
    row = _pool_row(policy)
    changed = {name: row[name] for name in ("preemption", "default_priority", "rules")}
    await connection.execute(update(pool).where(pool.c.name == policy.name).values(**changed, is_edited=True))


async def load_pools(connection: AsyncConnection) -> list[PoolPolicy]:
    return [_policy_of(row) for row in await connection.execute(select(pool).order_by(pool.c.name))]


async def save_quota(
    connection: AsyncConnection, name: PoolName, path: Path, given: Quota, version: int
) -> bool:
    """Store the quota of a tenant, or of one of its workspaces. False: a newer version is stored."""
    workspace = path[1] if len(path) > 1 else ""
    values = {
        "guaranteed": given.guaranteed,
        "maximum": given.maximum,
        "weight": given.weight,
        "version": version,
    }
    save = insert(quota).values(pool=name, tenant=path[0], workspace=workspace, **values)
    save = save.on_conflict_do_update(
        index_elements=["pool", "tenant", "workspace"], set_=values, where=quota.c.version < version
    )
    return (await connection.execute(save)).rowcount > 0


async def load_quotas(connection: AsyncConnection) -> list[tuple[PoolName, Path, Quota]]:
    query = select(quota).order_by(quota.c.pool, quota.c.tenant, quota.c.workspace)
    found = await connection.execute(query)
    return [
        (
            PoolName(row.pool),
            (TenantId(row.tenant), row.workspace) if row.workspace else (TenantId(row.tenant),),
            Quota(row.guaranteed, row.maximum, row.weight),
        )
        for row in found
    ]


def _pool_row(policy: PoolPolicy) -> Row:
    return {
        "name": policy.name,
        "kind": policy.kind,
        "preemption": policy.preemption,
        "exclusive": policy.exclusive,
        "auxiliary_per_worker": policy.auxiliary_per_worker,
        "default_priority": policy.default_priority,
        "rules": rules_of(policy).model_dump(mode="json", exclude=_COLUMNS),
    }


def _policy_of(row: Any) -> PoolPolicy:
    policy = PoolPolicy(
        name=PoolName(row.name),
        kind=row.kind,
        exclusive=row.exclusive,
        auxiliary_per_worker=row.auxiliary_per_worker,
        max_slots=row.max_slots,
        max_slots_per_worker=row.max_slots_per_worker,
        provided_kind=row.provided_kind,
        provided_labels=labels_of(row.provided_labels),
        price_per_slot_hour=row.price_per_slot_hour,
        is_closing=row.is_closing,
        provider_fault=row.provider_fault,
    )
    return with_rules(policy, PoolRules(**row.rules, **{name: getattr(row, name) for name in _COLUMNS}))
