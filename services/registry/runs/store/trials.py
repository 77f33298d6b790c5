"""Rows of experiments, trials and runs, and their fences.

Locks are always taken in one order: the trial, its runs, their marks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Row,
    Table,
    Uuid,
    case,
    cast,
    column,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.runs.core.fencing import Fence, RunEnding
from services.registry.runs.core.membership import RunMembership
from services.registry.series.core.superseded_points import RunStart
from services.registry.series.store.series import supersede_summaries
from services.registry.store.tables import experiments, report_cursors, runs, trials, validations
from shared.database.statements import among, rows_given
from shared.messages.runs import AllocationFacts, RunEnded, RunResized
from shared.messages.trial_specs import WHOLE_SLOT

COUNTS = ("save_experiment_best", "save_trial_best", "save_trial_latest")
"""Columns of an experiment's checkpoint retention."""
_IDENTITY = {"id", "tenant"}


@dataclass(frozen=True, slots=True)
class RankedValidation:
    """A validation that counts. `value`: the searcher's metric."""

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
    membership: RunMembership

    @property
    def attempt(self) -> RunStart:
        """The run as input of superseding."""
        return RunStart(self.number, self.resumed_from)


async def save_submissions(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store each experiment's name, workspace, datasets and retention. Checkpoint retention edited by a user is kept."""
    made = insert(experiments)
    new: dict[str, ColumnElement[Any]] = {name: made.excluded[name] for name in rows[0].keys() - _IDENTITY}
    for name in COUNTS:
        new[name] = case((experiments.c.is_policy_edited, experiments.c[name]), else_=new[name])
    await connection.execute(made.on_conflict_do_update(index_elements=["id"], set_=new), rows)


async def save_experiment_end(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store whether experiments have ended; only newer versions apply."""
    await _save_newer(connection, experiments, "version", rows)


async def save_wanted(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store the definitions of trials; only newer versions apply."""
    await _save_newer(connection, trials, "request_version", rows)


async def save_changed(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store the states of trials; only newer versions apply."""
    await _save_newer(connection, trials, "changed_version", rows)


async def save_grant(connection: AsyncConnection, facts: AllocationFacts, now: datetime) -> None:
    """Create trial and run unless they exist, and raise the trial's newest token. Locks the trial."""
    known = {"tenant": facts.tenant, "experiment": facts.experiment_id}
    trial = insert(trials).values(
        **known,
        id=facts.trial_id,
        newest_token=facts.token,
        code_hash=facts.code_hash,
        start_checkpoint=facts.start_checkpoint,
    )
    newest = func.greatest(trials.c.newest_token, trial.excluded.newest_token)
    await connection.execute(
        trial.on_conflict_do_update(index_elements=["id"], set_={"newest_token": newest})
    )
    run = insert(runs).values(
        **known,
        id=facts.run_id,
        trial=facts.trial_id,
        number=facts.run_number,
        token=facts.token,
        termination=RunEnding.lost if facts.stale and facts.token else None,
        first_day=now.date(),
    )
    await connection.execute(run.on_conflict_do_nothing())


async def save_members(connection: AsyncConnection, resized: RunResized) -> None:
    """Store the members of a running run after a resize; only newer versions apply."""
    is_newer = func.coalesce(runs.c.version, 0) < resized.version
    changed = update(runs).where(runs.c.id == resized.run_id, runs.c.ended_at.is_(None), is_newer)
    members = [member.worker for member in resized.members]
    await connection.execute(changed.values(version=resized.version, workers=members))


async def load_membership(connection: AsyncConnection, run: UUID) -> RunMembership:
    """Return the members of a run, without a lock. A run that no event has created yet has members as granted."""
    query = select(runs.c.ended_at, runs.c.workers, runs.c.announced).where(runs.c.id == run)
    row = (await connection.execute(query)).one_or_none()
    return _membership(row.ended_at, row.workers, row.announced) if row else RunMembership()


async def save_ending(connection: AsyncConnection, ended: RunEnded, ending: RunEnding) -> None:
    """Store how a run ended, its slots, and how long it held them."""
    slots = sum(member.fraction / WHOLE_SLOT if member.fraction else member.slots for member in ended.members)
    changed = update(runs).where(runs.c.id == ended.run_id)
    await connection.execute(
        changed.values(
            termination=ending,
            ended_at=ended.ended_at,
            announced=ended.checkpoints,
            version=ended.version,
            granted_at=ended.granted_at,
            slots=float(slots),
            outcome=ended.outcome,
            request=ended.request,
            is_requeued=ended.next == "requeued",
            workers=[member.worker for member in ended.members],
        )
    )


async def load_end(connection: AsyncConnection, trial: UUID) -> datetime | None:
    """Return when the registry learned that the trial has ended; None while it has not."""
    ended: datetime | None = await connection.scalar(
        select(trials.c.final_at).where(trials.c.id == trial, trials.c.is_final)
    )
    return ended


async def lock_trial(connection: AsyncConnection, trial: UUID) -> list[StoredRun]:
    """Lock the trial and return its runs by number; none for an unknown trial."""
    locked = select(trials.c.newest_token).where(trials.c.id == trial).with_for_update(key_share=True)
    newest = await connection.scalar(locked)
    if newest is None:
        return []
    of_trial = (
        select(runs).where(runs.c.trial == trial).order_by(runs.c.number).with_for_update(key_share=True)
    )
    return [_stored(row, newest) for row in await connection.execute(of_trial)]


async def save_fences(connection: AsyncConnection, trial: UUID, stale: Sequence[UUID]) -> None:
    """Mark these runs of a locked trial as stale, including their marks."""
    for table, run in ((runs, runs.c.id), (report_cursors, report_cursors.c.run)):
        fresh = update(table).where(among(run, stale), table.c.is_stale.is_(False))
        await connection.execute(fresh.values(is_stale=True))


async def hold_experiment(connection: AsyncConnection, experiment: UUID) -> None:
    """Prevent a deletion of the experiment from starting before the end of the transaction."""
    query = select(experiments.c.id).where(experiments.c.id == experiment)
    await connection.execute(query.with_for_update(read=True))


async def save_resumption(
    connection: AsyncConnection, run: UUID, resumed_from: int, restored: UUID | None
) -> None:
    """Store where a run resumes from."""
    changed = update(runs).where(runs.c.id == run)
    await connection.execute(changed.values(resumed_from=resumed_from, restored=restored))


async def load_current_validations(connection: AsyncConnection, trial: UUID) -> list[RankedValidation]:
    """Return the trial's ten best validations that are not superseded, best first by the searcher's metric."""
    value = cast(validations.c["values"][trials.c.metric].astext, Float)
    counts = runs.c.superseded_after.is_(None) | (validations.c.step <= runs.c.superseded_after)
    current = (
        select(validations.c.step, value, validations.c["values"])
        .join(trials, trials.c.id == validations.c.trial)
        .join(runs, runs.c.id == validations.c.run)
        .where(trials.c.id == trial, value != literal(math.nan), counts)
        .order_by(case((trials.c.smaller_is_better, value), else_=-value), validations.c.step)
        .limit(10)
    )
    return [RankedValidation(*row) for row in await connection.execute(current)]


async def save_boundaries(connection: AsyncConnection, boundaries: Mapping[UUID, int]) -> None:
    """Supersede the points of runs beyond a step, in marks and summaries too. The trial is locked.

    Marks are updated first. A batch in progress holds its mark's lock until its commit, so the summaries computed afterwards include it, or
    the batch sees the boundary.
    """
    for table, run in ((report_cursors, report_cursors.c.run), (runs, runs.c.id)):
        given = rows_given([column("run", Uuid), column("step", BigInteger)], boundaries.items())
        bound = update(table).where(run == given.c.run).values(superseded_after=given.c.step)
        await connection.execute(bound)
    await supersede_summaries(connection, boundaries)


async def _save_newer(
    connection: AsyncConnection, table: Table, version: str, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows, or replace the values of known rows by those of a newer version."""
    made = insert(table)
    is_newer = table.c[version] < made.excluded[version]
    new = {name: made.excluded[name] for name in rows[0].keys() - _IDENTITY}
    await connection.execute(
        made.on_conflict_do_update(index_elements=["id"], set_=new, where=is_newer), rows
    )


def _stored(row: Row[Any], newest: int) -> StoredRun:
    ending = RunEnding(row.termination) if row.termination else None
    return StoredRun(
        row.id,
        row.number,
        Fence(row.token, newest, ending),
        row.resumed_from,
        row.restored,
        row.is_stale,
        row.superseded_after,
        _membership(row.ended_at, row.workers, row.announced),
    )


def _membership(
    ended_at: datetime | None, workers: Sequence[str] | None, announced: int | None
) -> RunMembership:
    return RunMembership(ended_at, tuple(workers or ()) or None, announced)
