"""Rows with unpublished changes, and trials whose last reports do not arrive.

These queries run under the system role, over all tenants. Replicas share the rows by skipping locked ones.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.experiment.entities import ExperimentRecord, TrialRecord
from services.searcher.core.experiment.states import TRIAL
from services.searcher.store import rows
from services.searcher.store.tables import experiment, trial
from shared.ids import ExperimentId, TenantId, TrialId

_MOST = 200
"""Most rows in one round. If more trials report than that, publishing lags so that decisions keep their share of the bus."""

_MOST_WAITED_FOR = 10


@dataclass(frozen=True, slots=True)
class PendingExperiment:
    tenant: TenantId
    experiment: ExperimentRecord


@dataclass(frozen=True, slots=True)
class PendingTrial:
    tenant: TenantId
    experiment: ExperimentId
    trial: TrialRecord


@dataclass(frozen=True, slots=True)
class Overdue:
    tenant: TenantId
    trial: TrialId


async def take_pending_experiments(
    connection: AsyncConnection, now: datetime, every: timedelta
) -> list[PendingExperiment]:
    """Return experiments with unpublished progress with their new versions, each at most once per `every`."""
    due = (
        select(experiment.c.id)
        .where(
            experiment.c.dirty,
            (experiment.c.published_at.is_(None)) | (experiment.c.published_at <= now - every),
        )
        .limit(_MOST)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return await _take(connection, experiment.c.id.in_(select(due.c.id)), now)


async def load_skipped(connection: AsyncConnection, published_before: datetime) -> list[ExperimentId]:
    """Return some experiments whose progress should have been published by then.

    They were locked in every round, as happens to experiments that constantly receive results.
    """
    found = await connection.scalars(
        select(experiment.c.id)
        .where(
            experiment.c.dirty,
            or_(experiment.c.published_at.is_(None), experiment.c.published_at <= published_before),
        )
        .order_by(experiment.c.published_at.nulls_first())
        .limit(_MOST_WAITED_FOR)
    )
    return [ExperimentId(one) for one in found]


async def take_pending_experiment(
    connection: AsyncConnection, experiment_id: ExperimentId, now: datetime
) -> list[PendingExperiment]:
    """Wait for the experiment's lock and return it with its new version, unless another replica has published it meanwhile."""
    is_due = and_(experiment.c.id == experiment_id, experiment.c.dirty)
    return await _take(connection, is_due, now)


async def take_pending_trials(connection: AsyncConnection) -> list[PendingTrial]:
    """Return trials with unpublished results or states, with their new versions."""
    due = select(trial.c.id).where(trial.c.dirty).limit(_MOST).with_for_update(skip_locked=True).cte("due")
    found = await connection.execute(
        update(trial)
        .where(trial.c.id.in_(select(due.c.id)))
        .values(version=trial.c.version + 1, dirty=False)
        .returning(*trial.c)
    )
    return [
        PendingTrial(TenantId(row.tenant), ExperimentId(row.experiment), rows.to_trial(row._mapping))
        for row in found
    ]


async def is_any_left(connection: AsyncConnection) -> bool:
    """Whether unpublished changes remain: more than one round takes, or published too recently by another replica."""
    unpublished = or_(exists().where(experiment.c.dirty), exists().where(trial.c.dirty))
    return bool(await connection.scalar(select(unpublished)))


async def load_overdue(connection: AsyncConnection, closed_before: datetime) -> list[Overdue]:
    """Return trials whose request closed before that time and which are not final. Trials with checkpoints on their way are excluded."""
    announced = func.coalesce(trial.c.ended_checkpoints, 0)
    has_all = or_(
        trial.c.settled_run > trial.c.ended_run,
        and_(trial.c.settled_run == trial.c.ended_run, trial.c.settled_checkpoints >= announced),
    )
    is_uploading = and_(
        trial.c.ended_run == func.greatest(trial.c.run, trial.c.closed_runs), announced > 0, ~has_all
    )
    found = await connection.execute(
        select(trial.c.tenant, trial.c.id)
        .where(
            and_(
                trial.c.closed_at < closed_before,
                trial.c.state.not_in([state.value for state in TRIAL.final]),
                func.coalesce(is_uploading, False).is_(False),
            )
        )
        .limit(_MOST)
    )
    return [Overdue(TenantId(row.tenant), TrialId(row.id)) for row in found]


async def _take(
    connection: AsyncConnection, is_due: ColumnElement[bool], now: datetime
) -> list[PendingExperiment]:
    found = await connection.execute(
        update(experiment)
        .where(is_due)
        .values(version=experiment.c.version + 1, dirty=False, published_at=now)
        .returning(*[column for column in experiment.c if column.name != "config"])
    )
    return [PendingExperiment(TenantId(row.tenant), rows.to_experiment(row._mapping)) for row in found]
