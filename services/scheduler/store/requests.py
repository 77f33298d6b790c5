"""Data that handlers write: the newest request of each trial, experiment policies, settled checkpoints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, cast, extract, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.trial import Trial, TrialRequest
from services.scheduler.store.rows import Row, request_of, trial_of
from services.scheduler.store.tables import experiment_policy, run, trial, trial_request
from shared.database.statements import among, as_json, records, rows_given
from shared.ids import ExperimentId, PoolName, RunId, TenantId, TrialId
from shared.messages.trial_specs import DesiredState, TrialSpec

_POLICY = (
    experiment_policy.c.experiment,
    experiment_policy.c.priority,
    experiment_policy.c.weight,
    experiment_policy.c.max_slots,
    experiment_policy.c.pool,
    experiment_policy.c.max_trials,
)
_VERSION = cast(extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger).label("version")
"""The database's time in microseconds. Read under a row lock, it increases with every change of that row."""
_SENT = [column for column in trial_request.c if column.name != "stored_at"]
_RECENT = timedelta(seconds=60)
_insert = insert(trial_request).from_select(_SENT, select(records(_SENT)))
_changing = ("version", "request", "desired_state", "decide_at", "spec", "traceparent")
_SAVE_REQUESTS = _insert.on_conflict_do_update(
    index_elements=["trial"],
    set_={name: _insert.excluded[name] for name in _changing} | {"stored_at": func.now()},
    where=trial_request.c.version < _insert.excluded.version,
)
_ADDED = [
    experiment_policy.c[name]
    for name in ("experiment", "tenant", "priority", "weight", "max_slots", "max_trials")
]
_ADD_POLICIES = (
    insert(experiment_policy)
    .from_select(_ADDED, select(records(_ADDED)))
    # An existing row is not changed, only locked and returned.
    .on_conflict_do_update(index_elements=["experiment"], set_={"experiment": experiment_policy.c.experiment})
    .returning(*_POLICY, _VERSION)
)


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request with data that the scheduler passes on unread: the specification, and the trace of the run."""

    request: TrialRequest
    spec: TrialSpec
    traceparent: str | None


async def save_requests(connection: AsyncConnection, requests: Sequence[StoredRequest]) -> None:
    """Store the newest version of each trial's request; repeated and older ones change nothing."""
    newest: dict[TrialId, StoredRequest] = {}
    for stored in requests:
        before = newest.get(stored.request.trial)
        if before is None or before.request.version < stored.request.version:
            newest[stored.request.trial] = stored
    rows = [_request_row(stored) for stored in newest.values()]
    await connection.execute(_SAVE_REQUESTS, {"records": as_json(rows)})


async def add_policies(
    connection: AsyncConnection, tenant: TenantId, policies: dict[ExperimentId, ExperimentPolicy]
) -> dict[ExperimentId, tuple[ExperimentPolicy, int]]:
    """Store each experiment's policy unless it has one; return the stored policies with their versions."""
    rows = [
        {
            "experiment": experiment,
            "tenant": tenant,
            "priority": one.priority,
            "weight": one.weight,
            "max_slots": one.max_slots,
            "max_trials": one.max_trials,
        }
        for experiment, one in policies.items()
    ]
    found = await connection.execute(_ADD_POLICIES, {"records": as_json(rows)})
    return {ExperimentId(row.experiment): (_policy_of(row), row.version) for row in found}


async def load_policies(
    connection: AsyncConnection, experiments: Iterable[ExperimentId]
) -> dict[ExperimentId, ExperimentPolicy]:
    found = await connection.execute(
        select(*_POLICY).where(among(experiment_policy.c.experiment, experiments))
    )
    return {ExperimentId(row.experiment): _policy_of(row) for row in found}


async def edit_policy(
    connection: AsyncConnection, experiment: ExperimentId, changes: Row
) -> tuple[ExperimentPolicy, int] | None:
    """Change the given fields (None leaves a field unchanged). Return the stored policy with its version, the
    time of the change in microseconds; None: no such experiment here."""
    names = ("priority", "weight", "max_slots", "max_trials", "pool")
    given = {
        name: func.coalesce(literal(changes[name], experiment_policy.c[name].type), experiment_policy.c[name])
        for name in names
    }
    edit = (
        update(experiment_policy)
        .where(experiment_policy.c.experiment == experiment)
        .values(given)
        .returning(*_POLICY, _VERSION)
    )
    found = (await connection.execute(edit)).one_or_none()
    return (_policy_of(found), found.version) if found else None


async def load_known(connection: AsyncConnection, trials: Iterable[TrialId]) -> dict[TrialId, Trial]:
    """Load the trials of earlier requests, which may have left memory."""
    query = select(trial, trial_request.c.spec).join(trial_request, trial_request.c.trial == trial.c.trial)
    found = await connection.execute(query.where(among(trial.c.trial, trials)))
    return {TrialId(row.trial): trial_of(row, TrialSpec.model_validate(row.spec)) for row in found}


async def load_late_versions(connection: AsyncConnection) -> dict[TrialId, int]:
    """Return the versions of requests stored in the last minute, one of which a handler of an earlier leader
    may have committed."""
    query = select(trial_request.c.trial, trial_request.c.version).where(
        trial_request.c.stored_at > func.now() - _RECENT
    )
    return {TrialId(row.trial): row.version for row in await connection.execute(query)}


async def load_requests(connection: AsyncConnection, trials: Iterable[TrialId]) -> list[StoredRequest]:
    query = select(trial_request).where(among(trial_request.c.trial, trials))
    found = await connection.execute(query.order_by(trial_request.c.stored_at, trial_request.c.trial))
    return [stored_request_of(row) for row in found]


async def settle(connection: AsyncConnection, runs: Sequence[RunId]) -> None:
    """Count checkpoints that were committed or abandoned, one for each time a run is named."""
    arrived = rows_given([run.c.run], [(run_id,) for run_id in runs])
    each = select(arrived.c.run, func.count().label("held")).group_by(arrived.c.run).subquery("each")
    settle = update(run).where(run.c.run == each.c.run).values(settled=run.c.settled + each.c.held)
    await connection.execute(settle)


async def load_settled(connection: AsyncConnection, runs: Iterable[RunId]) -> dict[RunId, int]:
    found = await connection.execute(select(run.c.run, run.c.settled).where(among(run.c.run, runs)))
    return {RunId(row.run): row.settled for row in found}


def stored_request_of(row: Any) -> StoredRequest:
    """From a row of `trial_request`."""
    spec = TrialSpec.model_validate(row.spec)
    level = (row.version, row.request, DesiredState(row.desired_state), row.decide_at)
    request = request_of(TrialId(row.trial), TenantId(row.tenant), ExperimentId(row.experiment), level, spec)
    return StoredRequest(request, spec, row.traceparent)


def _request_row(stored: StoredRequest) -> dict[str, object]:
    request = stored.request
    return {
        "trial": request.trial,
        "tenant": request.tenant,
        "experiment": request.experiment,
        "version": request.version,
        "request": request.request,
        "desired_state": request.desired_state,
        "decide_at": request.decide_at,
        "spec": stored.spec.model_dump(mode="json"),
        "traceparent": stored.traceparent,
    }


def _policy_of(row: Any) -> ExperimentPolicy:
    pool = PoolName(row.pool) if row.pool else None
    return ExperimentPolicy(row.priority, row.weight, row.max_slots, pool, row.max_trials)
