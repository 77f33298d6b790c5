"""What handlers write: the newest wish of each trial, an experiment's part in the queue, checkpoints that have arrived."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.queue import Part
from services.scheduler.core.trial import Trial, Wish
from services.scheduler.store.rows import Row, trial_of, wish_of
from shared.driver import Driver, Found
from shared.ids import ExperimentId, PoolName, RunId, TenantId, TrialId
from shared.messages.specs import TrialSpec, Wanted

_PART = "experiment, priority, weight, max_slots, pool, max_trials"
_VERSION = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
"""The database's time in microseconds: asked under a row's lock, it rises from change to change of that row."""
_SAVE_WISHES = (
    "INSERT INTO scheduler.wanted AS w (trial, tenant, experiment, version, request, wanted, decide_at, spec, traceparent)"
    " SELECT trial, tenant, experiment, version, request, wanted, decide_at, spec, traceparent"
    " FROM jsonb_populate_recordset(NULL::scheduler.wanted, $1::jsonb)"
    " ON CONFLICT (trial) DO UPDATE SET version = excluded.version, request = excluded.request, wanted = excluded.wanted,"
    " decide_at = excluded.decide_at, spec = excluded.spec, traceparent = excluded.traceparent, stored_at = now()"
    " WHERE w.version < excluded.version"
)
_FIRST_PARTS = (
    "INSERT INTO scheduler.part AS stands (experiment, tenant, priority, weight, max_slots, max_trials)"
    " SELECT experiment, tenant, priority, weight, max_slots, max_trials"
    " FROM jsonb_populate_recordset(NULL::scheduler.part, $1::jsonb)"
    # What stands is changed in nothing, but locked and returned.
    " ON CONFLICT (experiment) DO UPDATE SET experiment = stands.experiment"
    f" RETURNING {', '.join(f'stands.{name}' for name in _PART.split(', '))}, {_VERSION} AS version"
)
_PARTS = text(f"SELECT {_PART} FROM scheduler.part WHERE experiment = ANY(CAST(:ids AS uuid[]))")
_EDIT_PART = (
    "UPDATE scheduler.part SET priority = coalesce($2, priority), weight = coalesce($3, weight),"
    " max_slots = coalesce($4, max_slots), max_trials = coalesce($5, max_trials), pool = coalesce($6, pool)"
    f" WHERE experiment = $1 RETURNING {_PART}, {_VERSION} AS version"
)
_KNOWN = text(
    "SELECT t.*, w.spec FROM scheduler.trial t JOIN scheduler.wanted w USING (trial)"
    " WHERE t.trial = ANY(CAST(:ids AS uuid[]))"
)
_LATELY = text("SELECT trial, version FROM scheduler.wanted WHERE stored_at > now() - interval '60 seconds'")
_WISHES = text(
    "SELECT trial, tenant, experiment, version, request, wanted, decide_at, spec, traceparent FROM scheduler.wanted"
    " WHERE trial = ANY(CAST(:ids AS uuid[])) ORDER BY stored_at, trial"
)
_SETTLE = text(
    "UPDATE scheduler.run SET settled = settled + n FROM"
    " (SELECT id, count(*) AS n FROM unnest(CAST(:ids AS uuid[])) AS arrived (id) GROUP BY id) AS arrived"
    " WHERE run.run = arrived.id"
)
_SETTLED = text("SELECT run, settled FROM scheduler.run WHERE run = ANY(CAST(:ids AS uuid[]))")


@dataclass(frozen=True, slots=True)
class StoredWish:
    """A wish with what the scheduler carries unread: the spec, and the trace that the run belongs to."""

    wish: Wish
    spec: TrialSpec
    traceparent: str | None


async def save_wishes(connection: AsyncConnection, wishes: Sequence[StoredWish]) -> None:
    """Keeps each trial's newest version; a repeat or an older one changes nothing."""
    newest: dict[TrialId, StoredWish] = {}
    for stored in wishes:
        before = newest.get(stored.wish.trial)
        if before is None or before.wish.version < stored.wish.version:
            newest[stored.wish.trial] = stored
    rows = [_wish_row(stored) for stored in newest.values()]
    await Driver.of(connection).fetch(_SAVE_WISHES, orjson.dumps(rows, default=str).decode())


async def first_parts(
    connection: AsyncConnection, tenant: TenantId, parts: dict[ExperimentId, Part]
) -> dict[ExperimentId, tuple[Part, int]]:
    """Stores each experiment's part unless it has one; returns what stands, with its version."""
    rows = [
        {
            "experiment": experiment,
            "tenant": tenant,
            "priority": part.priority,
            "weight": part.weight,
            "max_slots": part.max_slots,
            "max_trials": part.max_trials,
        }
        for experiment, part in parts.items()
    ]
    found = await Driver.of(connection).fetch(_FIRST_PARTS, orjson.dumps(rows, default=str).decode())
    return {ExperimentId(row["experiment"]): (_part_of(Found(row)), row["version"]) for row in found}


async def load_parts(
    connection: AsyncConnection, experiments: Iterable[ExperimentId]
) -> dict[ExperimentId, Part]:
    found = await connection.execute(_PARTS, {"ids": list(experiments)})
    return {ExperimentId(row.experiment): _part_of(row) for row in found}


async def edit_part(
    connection: AsyncConnection, experiment: ExperimentId, changes: Row
) -> tuple[Part, int] | None:
    """Changes what is given (None leaves as is), and returns what stands with its version, the time of the change in microseconds; None: no such experiment here."""
    given = (changes[name] for name in ("priority", "weight", "max_slots", "max_trials", "pool"))
    found = await Driver.of(connection).find(_EDIT_PART, experiment, *given)
    return (_part_of(found), found.version) if found else None


async def load_known(connection: AsyncConnection, trials: Iterable[TrialId]) -> dict[TrialId, Trial]:
    """Trials of earlier requests, which may have left memory."""
    found = await connection.execute(_KNOWN, {"ids": list(trials)})
    return {TrialId(row.trial): trial_of(row, TrialSpec.model_validate(row.spec)) for row in found}


async def load_late_versions(connection: AsyncConnection) -> dict[TrialId, int]:
    """Versions of the wishes stored in the last minute: one may have been committed by a handler of the leader before."""
    return {TrialId(row.trial): row.version for row in await connection.execute(_LATELY)}


async def load_wishes(connection: AsyncConnection, trials: Iterable[TrialId]) -> list[StoredWish]:
    found = await connection.execute(_WISHES, {"ids": list(trials)})
    return [stored_wish_of(row) for row in found]


async def settle(connection: AsyncConnection, runs: Sequence[RunId]) -> None:
    """Counts checkpoints that were committed or given up, one for each time a run is named."""
    await connection.execute(_SETTLE, {"ids": list(runs)})


async def load_settled(connection: AsyncConnection, runs: Iterable[RunId]) -> dict[RunId, int]:
    found = await connection.execute(_SETTLED, {"ids": list(runs)})
    return {RunId(row.run): row.settled for row in found}


def stored_wish_of(row: Any) -> StoredWish:
    """From a row of `wanted`."""
    spec = TrialSpec.model_validate(row.spec)
    level = (row.version, row.request, Wanted(row.wanted), row.decide_at)
    wish = wish_of(TrialId(row.trial), TenantId(row.tenant), ExperimentId(row.experiment), level, spec)
    return StoredWish(wish, spec, row.traceparent)


def _wish_row(stored: StoredWish) -> dict[str, object]:
    wish = stored.wish
    return {
        "trial": wish.trial,
        "tenant": wish.tenant,
        "experiment": wish.experiment,
        "version": wish.version,
        "request": wish.request,
        "wanted": wish.wanted,
        "decide_at": wish.decide_at,
        "spec": stored.spec.model_dump(mode="json"),
        "traceparent": stored.traceparent,
    }


def _part_of(row: Any) -> Part:
    pool = PoolName(row.pool) if row.pool else None
    return Part(row.priority, row.weight, row.max_slots, pool, row.max_trials)
