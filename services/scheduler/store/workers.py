"""Join tokens, credentials, drains and removals of workers, and provider limits of pools: data that queries and
handlers write."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Update, and_, any_, delete, func, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.tables import join_token, pool, worker
from shared.database.statements import among
from shared.ids import PoolName, WorkerId
from shared.messages.instances import ProviderChanged

_KEPT = timedelta(days=1)
"""How long expired join tokens are kept."""


@dataclass(frozen=True, slots=True)
class JoinToken:
    """A one-time token, stored as a hash. `worker` None allows any name."""

    hash: bytes
    pool: PoolName
    worker: WorkerId | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker that has used its token. `key` authenticates it from now on; its credentials are valid `until`."""

    worker: WorkerId
    pool: PoolName
    address: str
    key: str
    until: datetime


@dataclass(frozen=True, slots=True)
class WorkerCommands:
    """Commands for a worker that handlers have stored."""

    worker: WorkerId
    drain: bool
    reclaim: bool
    is_removed: bool


async def has_pool(connection: AsyncConnection, name: PoolName) -> bool:
    query = select(pool.c.name).where(pool.c.name == name)
    return (await connection.execute(query)).one_or_none() is not None


async def save_join_token(connection: AsyncConnection, token: JoinToken, now: datetime) -> None:
    """Store a token, and delete expired ones."""
    await connection.execute(delete(join_token).where(join_token.c.expires_at < now - _KEPT))
    await connection.execute(insert(join_token).values(asdict(token)))


async def spend_join_token(
    connection: AsyncConnection, token: JoinToken, worker_id: WorkerId, key: str, now: datetime
) -> bool:
    """Use up the token. The same worker with the same key may use it again, because its reply may have been lost."""
    here = join_token.c
    spend = (
        update(join_token)
        .where(here.hash == token.hash, here.expires_at > now, here.pool == token.pool)
        .where(or_(here.worker.is_(None), here.worker == worker_id))
        .where(or_(here.used_by.is_(None), and_(here.used_by == worker_id, here.used_key == key)))
        .values(used_by=worker_id, used_key=key, used_at=now)
    )
    return (await connection.execute(spend)).rowcount > 0


async def register_worker(connection: AsyncConnection, joined: Joined, is_alive: bool) -> bool:
    """Store a worker. False: a worker of that name was removed and its name cannot be used again, or it is
    alive with another key."""
    credentials = {"user_key": joined.key, "credentials_until": joined.until}
    register = insert(worker).values(
        worker=joined.worker, pool=joined.pool, address=joined.address, liveness="joined", **credentials
    )
    is_same = worker.c.user_key == joined.key if is_alive else true()
    register = register.on_conflict_do_update(
        index_elements=["worker"], set_=credentials, where=and_(~worker.c.is_removed, is_same)
    )
    return (await connection.execute(register)).rowcount > 0


async def renew_worker(connection: AsyncConnection, worker_id: WorkerId, key: str, until: datetime) -> bool:
    """False: unknown, removed, or not the key that it joined with."""
    renew = _change(worker_id).where(worker.c.user_key == key).values(credentials_until=until)
    return (await connection.execute(renew)).rowcount > 0


async def load_key(connection: AsyncConnection, worker_id: WorkerId) -> tuple[str, datetime] | None:
    """Return the key that a worker joined with and when its credentials expire; also for a removed worker."""
    query = select(worker.c.user_key, worker.c.credentials_until).where(
        worker.c.worker == worker_id, worker.c.credentials_until.is_not(None)
    )
    found = (await connection.execute(query)).one_or_none()
    return None if found is None else (found.user_key, found.credentials_until)


async def request_drain(connection: AsyncConnection, worker_id: WorkerId, asked: bool, reclaim: bool) -> bool:
    """Store the command; the cycle carries it out. False: no such worker."""
    change = _change(worker_id).values(drain_requested=asked, reclaim=reclaim)
    return (await connection.execute(change)).rowcount > 0


async def disable_slot(connection: AsyncConnection, worker_id: WorkerId, slot: int, undo: bool) -> bool:
    """Store that a slot accepts no work; the cycle carries it out. False: no such worker or slot."""
    others = func.array_remove(worker.c.disabled_slots, slot)
    change = _change(worker_id).values(disabled_slots=others if undo else func.array_append(others, slot))
    if not undo:
        change = change.where(any_(worker.c.slot_ids) == slot)
    return (await connection.execute(change)).rowcount > 0


async def load_disabled(connection: AsyncConnection) -> dict[WorkerId, frozenset[int]]:
    """Return the disabled slots of each worker that has any."""
    disabled = worker.c.disabled_slots
    query = select(worker.c.worker, disabled).where(func.cardinality(disabled) > 0)
    return {WorkerId(row.worker): frozenset(row.disabled_slots) for row in await connection.execute(query)}


async def remove_workers(connection: AsyncConnection, workers: list[WorkerId]) -> None:
    """Mark workers as removed, because their instances were deleted; they are not loaded again once their liveness is `removed`."""
    here = (among(worker.c.worker, workers), ~worker.c.is_removed)
    await connection.execute(update(worker).where(*here).values(is_removed=True))


async def load_worker_commands(connection: AsyncConnection) -> list[WorkerCommands]:
    """Return drains, undone drains and removals that no cycle has carried out yet."""
    here = worker.c
    query = select(here.worker, here.drain_requested, here.reclaim, here.is_removed).where(
        or_(here.drain_requested != (here.drain != "open"), and_(here.is_removed, here.liveness != "removed"))
    )
    found = await connection.execute(query)
    return [WorkerCommands(WorkerId(r.worker), r.drain_requested, r.reclaim, r.is_removed) for r in found]


async def limit_pool(connection: AsyncConnection, limit: ProviderChanged) -> None:
    """Store what the pool's provider can add, its price, and its fault."""
    change = (
        update(pool)
        .where(pool.c.name == limit.pool, pool.c.provider_version < limit.version)
        .values(
            max_slots=limit.maximum * limit.slots_per_instance,
            max_slots_per_worker=limit.slots_per_instance,
            provided_kind=limit.slot_kind,
            provided_labels=dict(limit.labels),
            price_per_slot_hour=limit.price_per_slot_hour,
            is_closing=limit.is_closing,
            provider_fault=limit.fault,
            provider_version=limit.version,
        )
    )
    await connection.execute(change)


def _change(worker_id: WorkerId) -> Update:
    """An update of a worker that was not removed."""
    return update(worker).where(worker.c.worker == worker_id, ~worker.c.is_removed)
