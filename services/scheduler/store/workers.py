"""Workers' join tokens, credentials, drains and removals, and pool limits: what queries and handlers write beside the cycle."""

from dataclasses import asdict, dataclass
from datetime import datetime

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.ids import PoolName, WorkerId
from shared.messages.instances import ProviderChanged

_ISSUE = text(
    "INSERT INTO scheduler.join_token (hash, pool, worker, expires_at) VALUES (:hash, :pool, :worker, :expires_at)"
)
_SPEND = text(
    "UPDATE scheduler.join_token SET used_by = :worker, used_key = :key, used_at = :now"
    " WHERE hash = :hash AND expires_at > :now AND pool = :pool AND (worker IS NULL OR worker = :worker)"
    " AND (used_by IS NULL OR (used_by = :worker AND used_key = :key)) RETURNING pool"
)
_REGISTER = text(
    "INSERT INTO scheduler.worker AS w (worker, pool, address, liveness, user_key, credentials_until)"
    " VALUES (:worker, :pool, :address, 'joined', :key, :until)"
    " ON CONFLICT (worker) DO UPDATE SET user_key = excluded.user_key, credentials_until = excluded.credentials_until"
    " WHERE NOT w.is_removed AND (NOT :is_alive OR w.user_key = excluded.user_key) RETURNING worker"
)
_RENEW = text(
    "UPDATE scheduler.worker SET credentials_until = :until"
    " WHERE worker = :worker AND user_key = :key AND NOT is_removed RETURNING worker"
)
_KEY = text(
    "SELECT user_key, credentials_until FROM scheduler.worker WHERE worker = :worker AND credentials_until IS NOT NULL"
)
_ASK_DRAIN = text(
    "UPDATE scheduler.worker SET drain_asked = :asked, reclaim = :reclaim"
    " WHERE worker = :worker AND NOT is_removed RETURNING worker"
)
_DISABLE = text(
    "UPDATE scheduler.worker SET disabled_slots = array_remove(disabled_slots, CAST(:slot AS int))"
    " || CASE WHEN :undo THEN '{}'::int[] ELSE ARRAY[CAST(:slot AS int)] END"
    " WHERE worker = :worker AND NOT is_removed AND (:undo OR :slot = ANY(slot_ids)) RETURNING worker"
)
_DISABLED = text("SELECT worker, disabled_slots FROM scheduler.worker WHERE disabled_slots <> '{}'")
_REMOVE = text(
    "UPDATE scheduler.worker SET is_removed = true WHERE worker = ANY(CAST(:workers AS text[])) AND NOT is_removed"
)
_BEHIND = text(
    "SELECT worker, drain_asked, reclaim, is_removed FROM scheduler.worker"
    " WHERE drain_asked <> (drain <> 'open') OR (is_removed AND liveness <> 'gone')"
)
_LIMIT = text(
    "UPDATE scheduler.pool SET max_slots = :max_slots, max_slots_per_worker = :per_worker,"
    " provided_kind = :kind, provided_labels = CAST(:labels AS jsonb), price_per_slot_hour = :price,"
    " is_closing = :is_closing, provider_fault = :fault,"
    " provider_version = :version WHERE name = :pool AND provider_version < :version"
)
_POOL_EXISTS = text("SELECT 1 FROM scheduler.pool WHERE name = :pool")
_DROP_OLD_TOKENS = text(
    "DELETE FROM scheduler.join_token WHERE expires_at < CAST(:now AS timestamptz) - interval '1 day'"
)


@dataclass(frozen=True, slots=True)
class JoinToken:
    """A one-time token, known by its hash only. `worker` None admits any name."""

    hash: bytes
    pool: PoolName
    worker: WorkerId | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker that has spent its token; `key` proves it from now on, with credentials `until` then."""

    worker: WorkerId
    pool: PoolName
    address: str
    key: str
    until: datetime


@dataclass(frozen=True, slots=True)
class WorkerWish:
    """What handlers have kept of a worker."""

    worker: WorkerId
    drain: bool
    reclaim: bool
    is_removed: bool


async def has_pool(connection: AsyncConnection, pool: PoolName) -> bool:
    return (await connection.execute(_POOL_EXISTS, {"pool": pool})).one_or_none() is not None


async def save_join_token(connection: AsyncConnection, token: JoinToken, now: datetime) -> None:
    """Stores a token, and drops those that ran out long ago."""
    await connection.execute(_DROP_OLD_TOKENS, {"now": now})
    await connection.execute(
        _ISSUE,
        {"hash": token.hash, "pool": token.pool, "worker": token.worker, "expires_at": token.expires_at},
    )


async def spend_join_token(
    connection: AsyncConnection, token: JoinToken, worker: WorkerId, key: str, now: datetime
) -> bool:
    """Uses the token up; the same worker with the same key may ask again, because its answer may have been lost."""
    facts = {"hash": token.hash, "pool": token.pool, "worker": worker, "key": key, "now": now}
    return (await connection.execute(_SPEND, facts)).one_or_none() is not None


async def register_worker(connection: AsyncConnection, joined: Joined, is_alive: bool) -> bool:
    """False: a worker of that name was removed, and its name is not used again; or it is alive and has another key."""
    facts = {**asdict(joined), "is_alive": is_alive}
    return (await connection.execute(_REGISTER, facts)).one_or_none() is not None


async def renew_worker(connection: AsyncConnection, worker: WorkerId, key: str, until: datetime) -> bool:
    """False: unknown, removed, or another key than it joined with."""
    found = await connection.execute(_RENEW, {"worker": worker, "key": key, "until": until})
    return found.one_or_none() is not None


async def load_key(connection: AsyncConnection, worker: WorkerId) -> tuple[str, datetime] | None:
    """The key that a worker joined with, and until when its credentials are good; also of one that was removed."""
    found = (await connection.execute(_KEY, {"worker": worker})).one_or_none()
    return None if found is None else (found.user_key, found.credentials_until)


async def ask_drain(connection: AsyncConnection, worker: WorkerId, asked: bool, reclaim: bool) -> bool:
    """Keeps the wish; the cycle carries it out. False: no such worker."""
    found = await connection.execute(_ASK_DRAIN, {"worker": worker, "asked": asked, "reclaim": reclaim})
    return found.one_or_none() is not None


async def disable_slot(connection: AsyncConnection, worker: WorkerId, slot: int, undo: bool) -> bool:
    """Keeps that a slot takes no more work; the cycle carries it out. False: no such worker, or no such slot there."""
    found = await connection.execute(_DISABLE, {"worker": worker, "slot": slot, "undo": undo})
    return found.one_or_none() is not None


async def load_disabled(connection: AsyncConnection) -> dict[WorkerId, frozenset[int]]:
    """Slots that take no more work, of each worker that has any."""
    return {
        WorkerId(row.worker): frozenset(row.disabled_slots) for row in await connection.execute(_DISABLED)
    }


async def remove_workers(connection: AsyncConnection, workers: list[WorkerId]) -> None:
    """Their instances are gone: they are never loaded again."""
    await connection.execute(_REMOVE, {"workers": workers})


async def load_worker_wishes(connection: AsyncConnection) -> list[WorkerWish]:
    """Drains, their undoing and removals that no cycle has carried out yet."""
    found = await connection.execute(_BEHIND)
    return [WorkerWish(WorkerId(r.worker), r.drain_asked, r.reclaim, r.is_removed) for r in found]


async def limit_pool(connection: AsyncConnection, limit: ProviderChanged) -> None:
    """What the pool's provider can bring it to, at what price, and what keeps it from that."""
    row = {
        "pool": limit.pool,
        "max_slots": limit.maximum * limit.slots_per_instance,
        "per_worker": limit.slots_per_instance,
        "kind": limit.slot_kind,
        "labels": orjson.dumps(limit.labels).decode(),
        "price": limit.price_per_slot_hour,
        "is_closing": limit.is_closing,
        "fault": limit.fault,
        "version": limit.version,
    }
    await connection.execute(_LIMIT, row)
