"""The outcome that follows from the end of a run: for the run, for the counters of its trial, and whether its
request closes."""

from collections.abc import Mapping

from services.scheduler.core.state.records.outcomes import RequestOutcome, RunEnding, RunOutcome
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.trial import Trial
from shared.messages.trial_specs import DesiredState, Signal
from shared.tuples import changed

MAX_RUNS_WITHOUT_PROGRESS = 10
"""This many consecutive uncounted ends without progress end a trial."""
TIME_SLICE_OVER = "its time slice was over, and requests of the same rank were waiting"

_OUTCOMES: Mapping[DesiredState, RequestOutcome] = {
    DesiredState.PARK: "parked",
    DesiredState.STOP: "stopped",
    DesiredState.CANCEL: "cancelled",
    DesiredState.KILL: "killed",
}
_ACKNOWLEDGED: Mapping[Signal, RequestOutcome] = {
    Signal.STOP: "stopped",
    Signal.PAUSE: "parked",
    Signal.CANCEL: "cancelled",
}


def combined(run: Run) -> RunExit:
    """Return the gang's exit. The counts are the chief's. The cause is the first exit with invalid
    hyperparameters, otherwise the first failure, otherwise the chief's exit."""
    exits = dict(run.exits)
    chief = exits[run.chief]
    failed = [exited for _, exited in run.exits if not exited.is_clean]
    cause = next((exited for exited in failed if exited.is_invalid), failed[0] if failed else chief)
    acknowledged = next((exited.acknowledged for _, exited in run.exits if exited.acknowledged), None)
    if acknowledged is not None and chief.acknowledged is not None:
        cause = chief
    return changed(
        cause,
        acknowledged=acknowledged if cause.is_clean else None,
        validations=chief.validations,
        checkpoints=chief.checkpoints,
        step=max(run.progress.step, chief.step),
        policies=tuple(dict.fromkeys(met for exited in exits.values() for met in exited.policies)),
    )


def outcome_of_exit(trial: Trial, run: Run, exited: RunExit) -> RunEnding:
    """Return the outcome of an exit. Checked in this order: invalid hyperparameters of a wanted run,
    acknowledged signal, forced end, exit code 0, desired state, log policies, machine fault."""
    wanted = trial.request.desired_state
    if exited.is_invalid and wanted in (DesiredState.RUN, DesiredState.PARK):
        return RunEnding("failed", closes="failed", reason=exited.reason, is_invalid=True)
    if exited.acknowledged is not None:
        return _judge_acknowledged(trial, run, exited.acknowledged)
    if exited.forced:
        return _judge_forced(trial, run, exited)
    if exited.exit_code == 0:
        return RunEnding("completed", closes="completed")
    if wanted is not DesiredState.RUN:
        return _closed_as_wanted(wanted)
    reason = exited.reason or f"the run exited with code {exited.exit_code}"
    if last_by := next((name for name, action in exited.policies if action == "cancel_retries"), None):
        given_up = f"{reason}; not retried: its output matched log policy '{last_by}'"
        return RunEnding("failed", closes="failed", reason=given_up)
    if exited.is_machine_fault:
        return _judge_trouble(trial, run, reason)
    if trial.restarts >= trial.request.max_restarts:
        left = f"; no restarts left (max_restarts is {trial.request.max_restarts})"
        return RunEnding("failed", closes="failed", reason=reason + left)
    return RunEnding("failed", closes=None, charged=True, reason=reason)


def outcome_of_loss(trial: Trial, run: Run, reason: str) -> RunEnding:
    """Return the outcome of a run lost with its machines. It is not counted as a restart, but the number in a
    row is limited."""
    if trial.request.desired_state is not DesiredState.RUN:
        return _closed_as_wanted(trial.request.desired_state)._replace(outcome="lost", reason=reason)
    return _judge_trouble(trial, run, reason)


def _judge_acknowledged(trial: Trial, run: Run, signal: Signal) -> RunEnding:
    wanted = trial.request.desired_state
    if signal is Signal.PREEMPT:
        return RunEnding(
            "preempted",
            closes=_OUTCOMES.get(wanted),
            reason=TIME_SLICE_OVER if run.yields_time_slice else None,
        )
    if signal is Signal.PAUSE and run.pause_requested and wanted is DesiredState.RUN:
        # Resumed again before the ranks had ended: the trial is requeued.
        return RunEnding("parked", closes=None)
    if signal in _ACKNOWLEDGED:
        outcome = _ACKNOWLEDGED[signal]
        if signal is Signal.PAUSE and wanted in (DesiredState.STOP, DesiredState.CANCEL, DesiredState.KILL):
            return RunEnding("parked", closes=_OUTCOMES[wanted])
        return RunEnding(_as_run(outcome), closes=outcome)
    return (
        RunEnding("killed", closes="killed")
        if wanted is DesiredState.KILL
        else RunEnding("completed", closes="completed")
    )


def _judge_forced(trial: Trial, run: Run, exited: RunExit) -> RunEnding:
    if trial.request.desired_state is not DesiredState.RUN:
        return _closed_as_wanted(trial.request.desired_state)
    if run.preempted:
        return RunEnding("preempted", closes=None, reason="the run did not stop within preemption_timeout")
    return _judge_trouble(trial, run, exited.reason or "the worker ended the run")


def _judge_trouble(trial: Trial, run: Run, reason: str) -> RunEnding:
    has_progress = run.progress.step > trial.best_step or run.progress.checkpoints > 0
    if not has_progress and trial.runs_without_progress + 1 >= MAX_RUNS_WITHOUT_PROGRESS:
        given_up = f"{reason}; {MAX_RUNS_WITHOUT_PROGRESS} runs in a row ended without a new checkpoint or a higher step"
        return RunEnding("lost", closes="failed", reason=given_up, lacks_progress=True)
    return RunEnding("lost", closes=None, reason=reason, lacks_progress=not has_progress)


def _closed_as_wanted(wanted: DesiredState) -> RunEnding:
    return RunEnding(_as_run(_OUTCOMES[wanted]), closes=_OUTCOMES[wanted])


def _as_run(outcome: RequestOutcome) -> RunOutcome:
    return "failed" if outcome == "rejected" else outcome


def outcome_without_run(wanted: DesiredState) -> RequestOutcome:
    """Return how a request closes that is no longer wanted and has no run."""
    return _OUTCOMES[wanted]
