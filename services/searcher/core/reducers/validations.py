"""Read, record and judge validations, and answer the worker."""

from services.searcher.core.experiment.entities import ScoredValidation, TrialRecord
from services.searcher.core.experiment.results import Reading, Result, read_result
from services.searcher.core.experiment.states import DesiredState, ExperimentTrigger, TrialState
from services.searcher.core.methods.interface import RungDecision
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import end, settle, stop
from services.searcher.core.reducers.events import Rollback
from services.searcher.core.reducers.starting import release_concurrency
from shared.tuples import changed


def on_validation(changes: Changes, result: Result) -> None:
    """Record a validation unless it is old. At or past `decide_at` it gets the one verdict."""
    trial = changes.trials[result.trial]
    if trial.is_final or (result.run, result.number) <= trial.reported:
        return
    trial = changed(trial, reported=(result.run, result.number), run=max(trial.run, result.run))
    reading = None if result.is_stale else read_result(changes.config, changes.objectives, result)
    if reading is None:
        changes.put(trial)
    elif isinstance(reading, str):
        _refuse(changes, changes.put(trial), result, reading)
    else:
        trial = changes.mark(trial, ScoredValidation(result.step, reading.value, reading.others))
        if not _is_due(changes, trial, reading):
            pass
        elif trial.desired_state is DesiredState.KILL:
            changes.answer(trial, result, "stop")
        else:
            decision = changes.search.judge(trial.number, reading.value, reading.time)
            changes.journal.judged(result, reading, decision)
            _carry_out(changes, trial, result, decision)
    settle(changes, changes.trials[result.trial])


def on_rollback(changes: Changes, rollback: Rollback) -> None:
    """Determine a trial's best again after a run resumed from an earlier step. Decisions based on discarded results stay."""
    trial = changes.trials[rollback.trial]
    if trial.is_final or trial.best is None or trial.best.step <= rollback.step:
        return
    marks = []
    for step, values in rollback.valid:
        result = Result(trial.number, rollback.run, 0, step, values)
        reading = read_result(changes.config, changes.objectives, result)
        if isinstance(reading, Reading):
            marks.append(ScoredValidation(step, reading.value, reading.others))
    if trial.reported[0] >= rollback.run and trial.latest is not None:
        marks.append(trial.latest)
    changes.invalidate_best(changes.rank(trial, marks))


def _refuse(changes: Changes, trial: TrialRecord, result: Result, missing: str) -> None:
    """End the experiment, because a validation lacks what the search needs."""
    changes.answer(trial, result, "stop")
    if changes.is_ongoing:
        stop(changes, ExperimentTrigger.FAIL, missing, DesiredState.KILL)


def _is_due(changes: Changes, trial: TrialRecord, reading: Reading) -> bool:
    """Whether the search decides about the trial now."""
    return changes.is_ongoing and trial.decide_at is not None and reading.time >= trial.decide_at


def _carry_out(changes: Changes, trial: TrialRecord, result: Result, decision: RungDecision) -> None:
    trial = changed(
        trial,
        decide_at=decision.decide_at,
        is_stopped=decision.stop,
        reached_max_time=decision.reached_max_time,
        is_paused_by_search=decision.pause,
    )
    changes.measure()
    if trial.state is TrialState.PARKED and decision.stop:
        end(changes, trial, DesiredState.STOP)
    elif not trial.is_open:
        changes.put(trial)
        if trial.state is TrialState.PARKED and decision.pause:
            release_concurrency(changes, trial)
    else:
        wanted = (
            DesiredState.STOP
            if decision.stop
            else DesiredState.PARK
            if decision.pause
            else trial.desired_state
        )
        trial = changes.want(trial, wanted)
        changes.answer(trial, result)
