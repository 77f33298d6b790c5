"""What a program tells the search that it drives is carried out."""

from collections.abc import Sequence

from services.searcher.core.experiment.states import ONGOING, DesiredState, ExperimentTrigger
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.commands import require
from services.searcher.core.reducers.ending import end, end_rest, stop
from services.searcher.core.reducers.starting import fill, keep
from shared.tuples import changed

DRIVER_FAILED = "its program gave the search up"


def apply_operations(changes: Changes, operations: Sequence[Operation]) -> None:
    """Make, continue and end the trials that are named; the last words end the search.

    Raises Conflict or Rejected; the search is of no use then.
    """
    require(changes, ONGOING, "told anything")
    told = changes.search.tell(operations)
    changes.journal.told(operations, told)
    fill(changes, told.moves)
    for step in told.kept:
        keep(changes, step)
    for number in told.stopped:
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
    trial = changes.put(changed(trial, is_stopped=True, is_held=False, decide_at=None))
    end(changes, trial, DesiredState.STOP)
