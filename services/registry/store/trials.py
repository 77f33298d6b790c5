"""What the registry knows of experiments, trials and runs, and the fences that follow from it.

Locks are taken in one order everywhere: the trial, its runs, their marks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.fencing import Ending, Fence
from services.registry.core.supersede import Attempt
from services.registry.store.tables import experiments, runs, trials
from shared.messages.runs import AllocationFacts


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


async def save_policy(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep each experiment's collection policy; the first submission stands."""
    keep = ("save_experiment_best", "save_trial_best", "save_trial_latest")
    statement = insert(experiments)
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id"], set_={name: statement.excluded[name] for name in keep}
        ),
        list(rows),
    )


async def save_experiment_end(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep whether experiments are over; only newer versions apply."""
    statement = insert(experiments)
    names = ("version", "is_final", "final_at")
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id"],
            set_={name: statement.excluded[name] for name in names},
            where=experiments.c.version < statement.excluded.version,
        ),
        list(rows),
    )


async def save_wanted(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep what trials are made of; only newer versions apply."""
    statement = insert(trials)
    names = "wanted_version hyperparameters code_hash metric smaller_is_better start_checkpoint upload_timeout_s".split()
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id"],
            set_={name: statement.excluded[name] for name in names},
            where=trials.c.wanted_version < statement.excluded.wanted_version,
        ),
        list(rows),
    )


async def save_changed(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep whether trials are over; only newer versions apply."""
    statement = insert(trials)
    names = ("changed_version", "is_final", "final_at")
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id"],
            set_={name: statement.excluded[name] for name in names},
            where=trials.c.changed_version < statement.excluded.changed_version,
        ),
        list(rows),
    )


async def save_grant(connection: AsyncConnection, facts: AllocationFacts, now: datetime) -> None:
    """Make trial and run known, whoever speaks of them first, and raise the trial's newest token. Locks the trial."""
    known = {"id": facts.trial_id, "tenant": facts.tenant, "experiment": facts.experiment_id}
    trial = insert(trials).values(
        **known, newest_token=facts.token, code_hash=facts.code_hash, start_checkpoint=facts.start_checkpoint
    )
    raised = func.greatest(trials.c.newest_token, trial.excluded.newest_token)
    await connection.execute(
        trial.on_conflict_do_update(index_elements=["id"], set_={"newest_token": raised})
    )
    await connection.execute(
        insert(runs)
        .values(
            id=facts.run_id,
            tenant=facts.tenant,
            trial=facts.trial_id,
            experiment=facts.experiment_id,
            number=facts.run_number,
            token=facts.token,
            ending=Ending.lost if facts.stale and facts.token else None,
            first_day=now.date(),
        )
        .on_conflict_do_nothing(index_elements=["id"])
    )


async def save_ending(connection: AsyncConnection, run: UUID, **ended: object) -> None:
    """Keep how a run ended (`ending`, `ended_at`, `announced`, `version`)."""
    await connection.execute(update(runs).where(runs.c.id == run).values(**ended))


async def load_end(connection: AsyncConnection, trial: UUID) -> datetime | None:
    """Return when the registry learned that the trial is over; None while it is not."""
    ended: datetime | None = await connection.scalar(
        select(trials.c.final_at).where(trials.c.id == trial, trials.c.is_final)
    )
    return ended


@dataclass(frozen=True, slots=True)
class EndedRun:
    """What settling needs to know of a run."""

    tenant: UUID
    experiment: UUID
    number: int
    token: int
    announced: int | None
    is_settled: bool


async def load_run(connection: AsyncConnection, run: UUID) -> EndedRun:
    """Return a known run."""
    columns = (
        runs.c.tenant,
        runs.c.experiment,
        runs.c.number,
        runs.c.token,
        runs.c.announced,
        runs.c.is_settled,
    )
    row = (await connection.execute(select(*columns).where(runs.c.id == run))).one()
    return EndedRun(*row)


async def lock_trial(connection: AsyncConnection, trial: UUID) -> list[StoredRun]:
    """Lock the trial and return its runs by number; none for an unknown trial."""
    newest = await connection.scalar(
        select(trials.c.newest_token).where(trials.c.id == trial).with_for_update(key_share=True)
    )
    if newest is None:
        return []
    return [_stored(row, newest) for row in await connection.execute(_BY_TRIAL, {"trial": trial})]


async def save_fences(connection: AsyncConnection, trial: UUID, stale: Sequence[UUID]) -> None:
    """Mark these runs of a locked trial as stale, in their marks too."""
    await connection.execute(_STALE_RUNS, {"stale": list(stale)})
    await connection.execute(_STALE_MARKS, {"stale": list(stale)})


async def save_resumption(
    connection: AsyncConnection, run: UUID, resumed_from: int, restored: UUID | None
) -> None:
    """Keep from where a run goes on."""
    await connection.execute(
        update(runs).where(runs.c.id == run).values(resumed_from=resumed_from, restored=restored)
    )


async def save_boundaries(connection: AsyncConnection, boundaries: Mapping[UUID, int]) -> None:
    """Supersede the points of runs beyond a step, in marks and summaries too. The trial is locked.

    The marks come first: a batch in flight holds its mark's lock until its commit, so the summaries that are computed
    afterwards hold it or it sees the boundary.
    """
    given = {"runs": list(boundaries), "steps": list(boundaries.values())}
    await connection.execute(_BOUND_MARKS, given)
    await connection.execute(_BOUND_RUNS, given)
    await connection.execute(_BOUND_SERIES, {"runs": list(boundaries)})


def _stored(row: Any, newest: int) -> StoredRun:
    ending = Ending(row.ending) if row.ending else None
    return StoredRun(
        row.id,
        row.number,
        Fence(row.token, newest, ending),
        row.resumed_from,
        row.restored,
        row.is_stale,
        row.superseded_after,
    )


_BY_TRIAL = text(
    "SELECT id, number, token, ending, resumed_from, restored, is_stale, superseded_after"
    " FROM registry.runs WHERE trial = :trial ORDER BY number FOR NO KEY UPDATE"
)
_STALE_RUNS = text(
    "UPDATE registry.runs SET is_stale = true WHERE id = ANY(CAST(:stale AS uuid[])) AND NOT is_stale"
)
_STALE_MARKS = text(
    "UPDATE registry.marks SET is_stale = true WHERE run = ANY(CAST(:stale AS uuid[])) AND NOT is_stale"
)
_BOUND_MARKS = text(
    "UPDATE registry.marks m SET superseded_after = b.step"
    " FROM unnest(CAST(:runs AS uuid[]), CAST(:steps AS bigint[])) AS b(run, step) WHERE m.run = b.run"
)
_BOUND_RUNS = text(
    "UPDATE registry.runs r SET superseded_after = b.step"
    " FROM unnest(CAST(:runs AS uuid[]), CAST(:steps AS bigint[])) AS b(run, step) WHERE r.id = b.run"
)
_BOUND_SERIES = text(
    """
    WITH counted AS (
        SELECT s.id, count(p.value) AS count,
               count(*) FILTER (WHERE p.value > '-Infinity' AND p.value < 'Infinity') AS finite,
               min(p.value) FILTER (WHERE p.value > '-Infinity' AND p.value < 'Infinity') AS least,
               max(p.value) FILTER (WHERE p.value > '-Infinity' AND p.value < 'Infinity') AS greatest,
               sum(p.value) FILTER (WHERE p.value > '-Infinity' AND p.value < 'Infinity') AS total,
               (array_agg(p.value ORDER BY p.step DESC, p.seq DESC) FILTER (WHERE p.value IS NOT NULL))[1] AS last,
               max(p.step) AS last_step
        FROM registry.series s
        JOIN registry.runs r ON r.id = s.run
        LEFT JOIN registry.points p
            ON p.series = s.id AND p.step <= r.superseded_after AND p.day >= r.first_day
        WHERE s.run = ANY(CAST(:runs AS uuid[]))
        GROUP BY s.id
    )
    UPDATE registry.series s SET
        count = c.count, finite = c.finite, least = coalesce(c.least, 'Infinity'),
        greatest = coalesce(c.greatest, '-Infinity'), total = coalesce(c.total, 0), last = coalesce(c.last, 'NaN'),
        last_step = coalesce(c.last_step, -9223372036854775808)
    FROM counted c WHERE c.id = s.id
    """
)
