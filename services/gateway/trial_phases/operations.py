"""Phases of trials. The scheduler reports when runs get slots and end; workers report the phases in between, which the registry stores."""

from collections.abc import Sequence
from datetime import datetime

from services.gateway.experiments.find import experiment_in
from services.gateway.platform.call_context import Call
from services.gateway.platform.json_values import to_time
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.platform.references import Row
from services.gateway.trial_phases import core
from services.gateway.trial_phases.schema import (
    ListExperimentPhasesRequest,
    Phase,
    PhaseKind,
    TrialPhases,
    TrialPhasesPage,
    WaitingUploads,
)
from services.gateway.trial_phases.store import load_runs_of
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from services.gateway.trials.schema import TrialRequest, TrialState
from shared.ids import TrialId
from shared.messages.phases import GetPhases, RunPhases


async def list_experiment_phases(call: Call, request: ListExperimentPhasesRequest) -> TrialPhasesPage:
    """List the phases (queueing, preparation, training, checkpoints) of an experiment's trials, by trial number."""
    position = read_cursor(call, request, request.cursor)
    above = int(str(position[0])) if position else None
    async with call.read() as connection:
        experiment = await experiment_in(connection, request.experiment)
        trials = await trial_store.load_trials(
            connection, experiment.id, trial_store.TrialStateFilter(), above, request.limit + 1
        )
    page = trials[: request.limit]
    return TrialPhasesPage(
        items=await _phases_of(call, page),
        next_cursor=make_cursor(call, request, [page[-1].number]) if len(trials) > len(page) else None,
    )


async def get_trial_phases(call: Call, request: TrialRequest) -> TrialPhases:
    """Get the phases of a trial: queueing, preparation, training, checkpoints."""
    (found,) = await _phases_of(call, [await find_trial(call, request.trial)])
    return found


async def _phases_of(call: Call, trials: Sequence[Row]) -> list[TrialPhases]:
    if not trials:
        return []
    ids = [row.id for row in trials]
    async with call.read() as connection:
        runs = await load_runs_of(connection, ids)
    question = GetPhases(trials=tuple(map(TrialId, ids)))
    reported = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return [
        _render(row, runs.get(row.id, ()), one.runs) for row, one in zip(trials, reported.trials, strict=True)
    ]


def _render(trial: Row, runs: Sequence[Row], reported: Sequence[RunPhases]) -> TrialPhases:
    by_run = {one.run_number: one.phases for one in reported}
    attempts = [
        core.RunPhases(
            row.number,
            datetime.fromisoformat(row.last_event["granted_at"]),
            datetime.fromisoformat(row.last_event["ended_at"]) if row.last_event.get("ended_at") else None,
            [
                core.WorkerPhase(
                    one.kind, to_time(one.began_ms), to_time(one.ended_ms), one.step, one.waits_for, one.image
                )
                for one in by_run.get(row.number, ())
            ],
        )
        for row in runs
    ]
    changed = trial.last_event
    state = TrialState(changed["state"])
    waits: core.Waiting = "parked" if state is TrialState.PARKED else "queued"
    found = core.phases_of(
        datetime.fromisoformat(changed["created_at"]), None if changed["final"] else waits, attempts
    )
    waiting = core.waiting_uploads(found)
    return TrialPhases(
        trial=trial.id,
        trial_number=trial.number,
        state=state,
        phases=[
            Phase(
                kind=PhaseKind(one.kind),
                run=one.run,
                began_at=one.began,
                ended_at=one.ended,
                within=PhaseKind(one.within) if one.within else None,
                step=one.step,
                reason=one.reason,
                image=one.image,
            )
            for one in found
        ],
        waiting_uploads=WaitingUploads(
            checkpoints=waiting.checkpoints, since=waiting.since, reason=waiting.reason
        )
        if waiting
        else None,
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetTrialPhases", "GET", "/v1/trials/{trial}/phases", TrialRequest, TrialPhases, READ_EXPERIMENT, SAFE, get_trial_phases, waits=True),
    Operation("ListExperimentPhases", "GET", "/v1/experiments/{experiment}/phases", ListExperimentPhasesRequest, TrialPhasesPage, READ_EXPERIMENT, SAFE, list_experiment_phases, waits=True),
)
# fmt: on
