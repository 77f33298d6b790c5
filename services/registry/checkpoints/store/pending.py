"""Ended runs whose announced checkpoints are not all settled, and what their uploads wait for."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Float, and_, case, cast, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.checkpoints.core.abandonment import OpenCheckpoint, Wait
from services.registry.core.checkpoint import OPEN, CheckpointStatus
from services.registry.runs.core.fencing import RunEnding
from services.registry.store.tables import checkpoints, runs, trials, workers
from shared.messages.trial_specs import DesiredState


@dataclass(frozen=True, slots=True)
class PendingRun:
    """An ended run that is not settled.

    Attributes:
        is_over: The run can commit nothing more, or all of its announced checkpoints are settled.
        is_waited_for: Whether the trial's next run waits for its checkpoints.
        workers: Workers of its gang, the chief first.
        limit: The experiment's `upload_timeout`.
        delay_reason: The last published reason why its checkpoints are not stored yet.
    """

    tenant: UUID
    trial: UUID
    experiment: UUID
    id: UUID
    number: int
    token: int
    announced: int
    is_over: bool
    is_waited_for: bool
    workers: tuple[str, ...]
    limit: timedelta
    wait: Wait
    delay_reason: str | None


async def load_pending(connection: AsyncConnection, limit: int) -> list[PendingRun]:
    """Return ended runs that are not settled; first those that can commit nothing more."""
    settled = (
        select(func.count())
        .where(checkpoints.c.run == runs.c.id, checkpoints.c.state.not_in(OPEN))
        .scalar_subquery()
    )
    announced = func.coalesce(runs.c.announced, 0)
    is_over = or_(
        runs.c.termination != RunEnding.ordinary, trials.c.newest_token > runs.c.token, settled >= announced
    ).label("is_over")
    # Runs that ended before these columns existed have no values: assume that their next run waits.
    waits = or_(
        runs.c.request.is_(None),
        and_(
            or_(trials.c.desired_state.is_(None), trials.c.desired_state == DesiredState.RUN.value),
            or_(runs.c.is_requeued, trials.c.request > runs.c.request),
        ),
    )
    found = await connection.execute(
        select(
            *(runs.c.tenant, runs.c.trial, runs.c.experiment, runs.c.id, runs.c.number, runs.c.token),
            *(runs.c.workers, runs.c.responsive_s, runs.c.store_seen_at, runs.c.delay_reason),
            announced.label("announced"),
            is_over,
            case((waits, True), else_=False).label("is_waited_for"),
            cast(trials.c.upload_timeout_s, Float).label("limit_s"),
        )
        .join(trials, trials.c.id == runs.c.trial)
        .where(runs.c.ended_at.is_not(None), runs.c.is_settled.is_(False))
        .order_by(is_over.desc(), runs.c.ended_at)
        .limit(limit)
    )
    return [
        PendingRun(
            tenant=row.tenant,
            trial=row.trial,
            experiment=row.experiment,
            id=row.id,
            number=row.number,
            token=row.token,
            announced=row.announced,
            is_over=row.is_over,
            is_waited_for=row.is_waited_for,
            workers=tuple(row.workers or ()),
            limit=timedelta(seconds=row.limit_s),
            wait=Wait(timedelta(seconds=row.responsive_s), row.store_seen_at),
            delay_reason=row.delay_reason,
        )
        for row in found
    ]


async def load_open(
    connection: AsyncConnection, pending: Sequence[PendingRun]
) -> Mapping[UUID, tuple[OpenCheckpoint, ...]]:
    """Return the open checkpoints of these runs, including announced ones without a row: their chief holds them."""
    rows = await connection.execute(
        select(
            checkpoints.c.run, checkpoints.c.number, checkpoints.c.state, checkpoints.c.pending_workers
        ).where(checkpoints.c.run.in_([run.id for run in pending]))
    )
    known: defaultdict[UUID, dict[int, tuple[CheckpointStatus, tuple[str, ...]]]] = defaultdict(dict)
    for row in rows:
        known[row.run][row.number] = CheckpointStatus(row.state), tuple(row.pending_workers or ())
    return {run.id: _open_of(run, known[run.id]) for run in pending}


async def save_wait(connection: AsyncConnection, run: UUID, wait: Wait, delay_reason: str | None) -> None:
    """Store how long the next run has waited, and the published reason."""
    changed = update(runs).where(runs.c.id == run)
    await connection.execute(
        changed.values(
            responsive_s=wait.responsive.total_seconds(),
            store_seen_at=wait.seen_at,
            delay_reason=delay_reason,
        )
    )


async def save_worker(connection: AsyncConnection, worker: str, version: int, state: str) -> None:
    """Store the newest state of a worker: `responding`, `silent` or `removed`."""
    row = insert(workers).values(worker=worker, version=version, state=state)
    newer = {"version": row.excluded.version, "state": row.excluded.state}
    await connection.execute(
        row.on_conflict_do_update(
            index_elements=[workers.c.worker], set_=newer, where=workers.c.version < row.excluded.version
        )
    )


async def load_away(connection: AsyncConnection, names: Collection[str]) -> dict[str, str]:
    """Return those of the workers that do not respond, with their states."""
    rows = await connection.execute(
        select(workers.c.worker, workers.c.state).where(
            workers.c.worker.in_(names), workers.c.state != "responding"
        )
    )
    return {row.worker: row.state for row in rows}


def _open_of(
    run: PendingRun, known: Mapping[int, tuple[CheckpointStatus, tuple[str, ...]]]
) -> tuple[OpenCheckpoint, ...]:
    chief = run.workers[:1]
    found = {
        number: OpenCheckpoint(number, (), run.workers)
        if state is CheckpointStatus.committing and not pending_workers
        else OpenCheckpoint(number, pending_workers or chief)
        for number, (state, pending_workers) in known.items()
        if state in OPEN
    }
    unannounced = {
        number: OpenCheckpoint(number, chief) for number in range(1, run.announced + 1) if number not in known
    }
    return tuple(one for _, one in sorted({**found, **unannounced}.items()))
