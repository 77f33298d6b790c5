"""Apply operations of a driver program."""

from collections.abc import Sequence

from services.searcher.core.experiment.states import ONGOING, DesiredState, ExperimentTrigger
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.commands import require
from services.searcher.core.reducers.ending import end, end_rest, stop
from services.searcher.core.reducers.starting import fill, keep
from shared.tuples import changed

DRIVER_FAILED = "the driver program reported that the search failed"


def apply_operations(changes: Changes, operations: Sequence[Operation]) -> None:
    """Create, continue and stop the named trials; a shutdown or failure ends the search.

    Raises Conflict or Rejected; discard the search then.
    """
    require(changes, ONGOING, "driven by a program")
    result = changes.search.apply_operations(operations)
    changes.journal.operations_applied(operations, result)
    fill(changes, result.actions)
    for step in result.continued:
        keep(changes, step)
    for number in result.stopped:
        _stop_trial(changes, number)
    changes.measure()
    last = next(
        (each for each in reversed(operations) if each.verb in (OperationKind.SHUTDOWN, OperationKind.FAIL)),
        None,
    )
    if last is not None and last.verb is OperationKind.FAIL:
        stop(changes, ExperimentTrigger.FAIL, last.reason or DRIVER_FAILED, DesiredState.KILL)
    elif last is not None:
        changes.experiment = changed(changes.experiment, reason=last.reason or changes.experiment.reason)
    end_rest(changes, ())


def _stop_trial(changes: Changes, number: int) -> None:
    trial = changes.trials[number]
    if trial.is_final or trial.closed is not None:
        return
    trial = changes.put(changed(trial, is_stopped=True, is_paused_by_search=False, decide_at=None))
    end(changes, trial, DesiredState.STOP)
