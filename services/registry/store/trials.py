"""What the registry knows of experiments, trials and runs, and the fences that follow from it.

Locks are taken in one order everywhere: the trial, its runs, their marks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import orjson
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.fencing import Ending, Fence
from services.registry.core.supersede import Attempt
from services.registry.store.retention import DAYS
from services.registry.store.series import supersede_summaries
from services.registry.store.tables import trials
from shared.driver import Driver, Row
from shared.messages.runs import AllocationFacts, RunEnded
from shared.messages.specs import WHOLE_SLOT

COUNTS = ("save_experiment_best", "save_trial_best", "save_trial_latest")
"""The columns of an experiment's policy of collection."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Standing:
    """A validation that counts; `value` is the searcher's metric in it."""

    step: int
    value: float
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of a locked trial."""

    run: UUID
    number: int
    fence: Fence
    resumed_from: int | None
    restored: UUID | None
    is_stale: bool
    superseded_after: int | None

    @property
    def attempt(self) -> Attempt:
        """The run as superseding sees it."""
        return Attempt(self.number, self.resumed_from)


async def save_submissions(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep each experiment's name, workspace, datasets and policies of collection and retention; of collection's, what a person has set since stands."""
    await Driver.of(connection).fetch(_SAVE_SUBMISSIONS, _json(rows))


async def save_experiment_end(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep whether experiments are over; only newer versions apply."""
    await Driver.of(connection).fetch(_SAVE_EXPERIMENT_END, _json(rows))


async def save_wanted(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep what trials are made of; only newer versions apply."""
    await Driver.of(connection).fetch(_SAVE_WANTED, _json(rows))


async def save_changed(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep where trials stand; only newer versions apply."""
    await Driver.of(connection).fetch(_SAVE_CHANGED, _json(rows))


async def save_grant(connection: AsyncConnection, facts: AllocationFacts, now: datetime) -> None:
    """Make trial and run known, whoever speaks of them first, and raise the trial's newest token. Locks the trial."""
    driver = Driver.of(connection)
    known = facts.trial_id, facts.tenant, facts.experiment_id
    await driver.fetch(_RAISE_TOKEN, *known, facts.token, facts.code_hash, facts.start_checkpoint)
    ending = Ending.lost if facts.stale and facts.token else None
    await driver.fetch(_INSERT_RUN, facts.run_id, *known, facts.run_number, facts.token, ending, now.date())


async def save_ending(connection: AsyncConnection, ended: RunEnded, ending: Ending) -> None:
    """Keep how a run ended, and for how long it had which slots."""
    slots = sum(member.part / WHOLE_SLOT if member.part else member.slots for member in ended.members)
    facts = ended.run_id, ending, ended.ended_at, ended.checkpoints, ended.version
    had = ended.granted_at, float(slots), ended.outcome
    follows = ended.request, ended.next == "requeued", [member.worker for member in ended.members]
    await Driver.of(connection).fetch(_END_RUN, *facts, *had, *follows)


async def load_end(connection: AsyncConnection, trial: UUID) -> datetime | None:
    """Return when the registry learned that the trial is over; None while it is not."""
    ended: datetime | None = await connection.scalar(
        select(trials.c.final_at).where(trials.c.id == trial, trials.c.is_final)
    )
    return ended


async def lock_trial(connection: AsyncConnection, trial: UUID) -> list[StoredRun]:
    """Lock the trial and return its runs by number; none for an unknown trial."""
    driver = Driver.of(connection)
    found = await driver.fetch(_LOCK_TRIAL, trial)
    if not found:
        return []
    newest = found[0]["newest_token"]
    return [_stored(row, newest) for row in await driver.fetch(_BY_TRIAL, trial)]


async def save_fences(connection: AsyncConnection, trial: UUID, stale: Sequence[UUID]) -> None:
    """Mark these runs of a locked trial as stale, in their marks too."""
    driver = Driver.of(connection)
    await driver.fetch(_STALE_RUNS, list(stale))
    await driver.fetch(_STALE_MARKS, list(stale))


async def save_resumption(
    connection: AsyncConnection, run: UUID, resumed_from: int, restored: UUID | None
) -> None:
    """Keep from where a run goes on."""
    await Driver.of(connection).fetch(_RESUME_RUN, run, resumed_from, restored)


async def load_standing(connection: AsyncConnection, trial: UUID) -> list[Standing]:
    """The trial's validations without those that a later run makes again: the ten best by the searcher's metric, the best first."""
    return [Standing(*row) for row in await connection.execute(_STANDING, {"trial": trial})]


async def save_boundaries(connection: AsyncConnection, boundaries: Mapping[UUID, int]) -> None:
    """Supersede the points of runs beyond a step, in marks and summaries too. The trial is locked.

    The marks come first: a batch in flight holds its mark's lock until its commit, so the summaries that are computed
    afterwards hold it or it sees the boundary.
    """
    given = {"runs": list(boundaries), "steps": list(boundaries.values())}
    await connection.execute(_BOUND_MARKS, given)
    await connection.execute(_BOUND_RUNS, given)
    await supersede_summaries(Driver.of(connection), boundaries)


def _json(rows: Sequence[Mapping[str, object]]) -> str:
    return orjson.dumps(rows, default=str).decode()


def _stored(row: Row, newest: int) -> StoredRun:
    ending = Ending(row["ending"]) if row["ending"] else None
    return StoredRun(
        row["id"],
        row["number"],
        Fence(row["token"], newest, ending),
        row["resumed_from"],
        row["restored"],
        row["is_stale"],
        row["superseded_after"],
    )


def _upsert(table: str, names: str, version: str | None = None, changes: Mapping[str, str] = _NOTHING) -> str:
    """Rows, given as one JSON array, made known, or these columns of them replaced; with a version, by newer ones only."""
    columns = names.split()
    new = ", ".join(f"{name} = {changes.get(name, f'excluded.{name}')}" for name in columns)
    guard = f" WHERE known.{version} < excluded.{version}" if version else ""
    given = ", ".join(("id", "tenant", *columns))
    return (
        f"INSERT INTO registry.{table} AS known ({given})"
        f" SELECT {given} FROM jsonb_populate_recordset(NULL::registry.{table}, $1::jsonb)"
        f" ON CONFLICT (id) DO UPDATE SET {new}{guard}"
    )


def _unless_edited(name: str) -> str:
    return f"CASE WHEN known.is_policy_edited THEN known.{name} ELSE excluded.{name} END"


_SAVE_SUBMISSIONS = _upsert(
    "experiments",
    f"number name workspace datasets code_hash {' '.join(DAYS)} {' '.join(COUNTS)}",
    changes={name: _unless_edited(name) for name in COUNTS},
)
_SAVE_EXPERIMENT_END = _upsert("experiments", "version is_final final_at", "version")
_SAVE_WANTED = _upsert(
    "trials",
    "experiment wanted_version number hyperparameters code_hash metric smaller_is_better start_checkpoint upload_timeout_s"
    " wanted request",
    "wanted_version",
)
_SAVE_CHANGED = _upsert(
    "trials",
    "experiment changed_version number state invalid runs created_at ended_at is_final final_at",
    "changed_version",
)
_RAISE_TOKEN = """
INSERT INTO registry.trials AS known (id, tenant, experiment, newest_token, code_hash, start_checkpoint)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET newest_token = greatest(known.newest_token, excluded.newest_token)
"""
_INSERT_RUN = """
INSERT INTO registry.runs (id, trial, tenant, experiment, number, token, ending, first_day)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO NOTHING
"""
_END_RUN = """
UPDATE registry.runs SET ending = $2, ended_at = $3, announced = $4, version = $5, granted_at = $6, slots = $7, outcome = $8,
    request = $9, is_requeued = $10, workers = $11
WHERE id = $1
"""
_RESUME_RUN = "UPDATE registry.runs SET resumed_from = $2, restored = $3 WHERE id = $1"
_LOCK_TRIAL = "SELECT newest_token FROM registry.trials WHERE id = $1 FOR NO KEY UPDATE"
_BY_TRIAL = """
SELECT id, number, token, ending, resumed_from, restored, is_stale, superseded_after
FROM registry.runs WHERE trial = $1 ORDER BY number FOR NO KEY UPDATE
"""
_STALE_RUNS = "UPDATE registry.runs SET is_stale = true WHERE id = ANY($1::uuid[]) AND NOT is_stale"
_STALE_MARKS = "UPDATE registry.marks SET is_stale = true WHERE run = ANY($1::uuid[]) AND NOT is_stale"
_STANDING = text(
    """
    SELECT v.step, found.value, v.values
    FROM registry.trials t
    JOIN registry.validations v ON v.trial = t.id
    JOIN registry.runs r ON r.id = v.run
    CROSS JOIN LATERAL (SELECT (v.values ->> t.metric)::float8 AS value) found
    WHERE t.id = :trial AND found.value <> 'NaN' AND (r.superseded_after IS NULL OR v.step <= r.superseded_after)
    ORDER BY CASE WHEN t.smaller_is_better THEN found.value ELSE -found.value END, v.step
    LIMIT 10
    """
)
_BOUND_MARKS = text(
    "UPDATE registry.marks m SET superseded_after = b.step"
    " FROM unnest(CAST(:runs AS uuid[]), CAST(:steps AS bigint[])) AS b(run, step) WHERE m.run = b.run"
)
_BOUND_RUNS = text(
    "UPDATE registry.runs r SET superseded_after = b.step"
    " FROM unnest(CAST(:runs AS uuid[]), CAST(:steps AS bigint[])) AS b(run, step) WHERE r.id = b.run"
)
