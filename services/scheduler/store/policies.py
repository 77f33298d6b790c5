"""Pools with their policies, and quotas: what people set, and the cycle rules by."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.placement.labels import labels_of
from services.scheduler.core.pool import PoolPolicy, Quota
from services.scheduler.core.shares import Path
from services.scheduler.rulings.rules import ruled, rules_of
from services.scheduler.store.rows import Row
from shared.ids import PoolName, TenantId
from shared.messages.pools import PoolRules

_COLUMNS = {"preemption", "default_priority"}
"""Rules that have columns of their own: they were there first."""

_SAVE_POOL = text(
    "INSERT INTO scheduler.pool (name, kind, preemption, exclusive, auxiliary_per_worker, default_priority, rules)"
    " VALUES (:name, :kind, :preemption, :exclusive, :auxiliary_per_worker, :default_priority, CAST(:rules AS jsonb))"
    " ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, preemption = excluded.preemption,"
    " exclusive = excluded.exclusive, auxiliary_per_worker = excluded.auxiliary_per_worker,"
    " default_priority = excluded.default_priority, rules = excluded.rules WHERE NOT scheduler.pool.is_edited"
)
_ADD_POOL = text(
    "INSERT INTO scheduler.pool (name, kind, preemption, exclusive, auxiliary_per_worker, default_priority, rules)"
    " VALUES (:name, :kind, :preemption, :exclusive, :auxiliary_per_worker, :default_priority, CAST(:rules AS jsonb))"
    " ON CONFLICT (name) DO NOTHING"
)
_EDIT_POOL = text(
    "UPDATE scheduler.pool SET preemption = :preemption, default_priority = :default_priority,"
    " rules = CAST(:rules AS jsonb), is_edited = true WHERE name = :name"
)
_POOLS = text("SELECT * FROM scheduler.pool ORDER BY name")
_SAVE_QUOTA = text(
    "INSERT INTO scheduler.quota AS q (pool, tenant, workspace, guaranteed, maximum, weight, version)"
    " VALUES (:pool, :tenant, :workspace, :guaranteed, :maximum, :weight, :version)"
    " ON CONFLICT (pool, tenant, workspace) DO UPDATE SET guaranteed = excluded.guaranteed,"
    " maximum = excluded.maximum, weight = excluded.weight, version = excluded.version"
    " WHERE q.version < excluded.version RETURNING pool"
)
_QUOTAS = text("SELECT * FROM scheduler.quota ORDER BY pool, tenant, workspace")


async def save_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Keeps a pool's policy as settings give it, unless people have changed it; what its provider can bring it to is kept apart."""
    await connection.execute(_SAVE_POOL, _pool_row(policy))


async def add_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Keeps a pool that nobody has told of yet; one that is known stays as it is."""
    await connection.execute(_ADD_POOL, _pool_row(policy))


async def edit_pool(connection: AsyncConnection, policy: PoolPolicy) -> None:
    """Keeps the rules that people gave a pool."""
    row = _pool_row(policy)
    names = ("name", "preemption", "default_priority", "rules")
    await connection.execute(_EDIT_POOL, {name: row[name] for name in names})


async def load_pools(connection: AsyncConnection) -> list[PoolPolicy]:
    return [_policy_of(row) for row in await connection.execute(_POOLS)]


async def save_quota(
    connection: AsyncConnection, pool: PoolName, path: Path, quota: Quota, version: int
) -> bool:
    """Keeps what a tenant (or a workspace of one) may hold; False: a newer word stands."""
    row = {
        "pool": pool,
        "tenant": path[0],
        "workspace": path[1] if len(path) > 1 else "",
        "guaranteed": quota.guaranteed,
        "maximum": quota.maximum,
        "weight": quota.weight,
        "version": version,
    }
    return (await connection.execute(_SAVE_QUOTA, row)).one_or_none() is not None


async def load_quotas(connection: AsyncConnection) -> list[tuple[PoolName, Path, Quota]]:
    found = await connection.execute(_QUOTAS)
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
        "rules": rules_of(policy).model_dump_json(exclude=_COLUMNS),
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
    return ruled(policy, PoolRules(**row.rules, **{name: getattr(row, name) for name in _COLUMNS}))
