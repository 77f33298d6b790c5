"""The desired state of a worker, and whether its observed state matches it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.observed import Observed
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.run_states import RunState
from services.scheduler.core.state.records.trial import Trial
from shared.ids import WorkerId
from shared.messages.trial_specs import DesiredState, Signal

SIGNALS: Mapping[DesiredState, Signal] = {
    DesiredState.RUN: Signal.RUN,
    DesiredState.PARK: Signal.PAUSE,
    DesiredState.STOP: Signal.STOP,
    DesiredState.CANCEL: Signal.CANCEL,
    DesiredState.KILL: Signal.KILL,
}


@dataclass(frozen=True, slots=True)
class DesiredRun:
    """One allocation that a worker should run. `needs_spec`: the worker has not reported it yet and needs the
    full specification."""

    run: Run
    trial: Trial
    signal: Signal
    needs_spec: bool


def desired_of(cluster: Cluster, worker: WorkerId) -> tuple[DesiredRun, ...]:
    """Return the allocations that a worker should run, by token. Ended ones are omitted, so that the worker
    drops them."""
    runs = [cluster.runs[run] for run in cluster.runs_on.get(worker, {})]
    return tuple(
        DesiredRun(run, trial, signal_of(trial, run), worker not in run.gang.seen)
        for run in sorted(runs, key=lambda run: run.token)
        if not run.is_ended and worker not in run.gang.released
        for trial in (cluster.trials[run.trial],)
    )


def signal_of(trial: Trial, run: Run) -> Signal:
    """Return the signal for a run: KILL for the rest of a broken gang, otherwise the desired state of the
    trial, otherwise PREEMPT for a preempted run."""
    if run.state is RunState.KILLING:
        return Signal.KILL
    signal = SIGNALS[trial.request.desired_state]
    return Signal.PREEMPT if signal is Signal.RUN and run.preempted else signal


def agrees(desired: Iterable[DesiredRun], observed: Iterable[Observed]) -> bool:
    """Whether the worker runs exactly what it should, with the same signals. An allocation that is still ending
    counts as a difference."""
    wanted = {
        (
            item.run.allocation,
            item.run.token,
            item.run.gang.generation,
            item.signal,
            item.trial.request.decide_at,
        )
        for item in desired
    }
    has = {
        (item.allocation, item.token, item.generation, item.signal, item.decide_at)
        for item in observed
        if item.exit is None
    }
    return wanted == has and all(item.exit is None for item in observed)
