"""State machines of experiments and trials. `DesiredState` has the same values on the wire, in the scheduler and in the tables."""

from enum import StrEnum

from shared.messages.trial_specs import DesiredState
from shared.state_machine import StateMachine

__all__ = [
    "EXPERIMENT",
    "ONGOING",
    "TRIAL",
    "ExperimentState",
    "ExperimentTrigger",
    "TrialState",
    "TrialTrigger",
    "DesiredState",
]


class ExperimentState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class ExperimentTrigger(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    """Its end is decided; trials are still open."""
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    REJECT = "reject"


_E, _T = ExperimentState, ExperimentTrigger

EXPERIMENT = StateMachine(
    name="experiment",
    initial=_E.ACTIVE,
    table={
        (_E.ACTIVE, _T.PAUSE): _E.PAUSED,
        (_E.PAUSED, _T.RESUME): _E.ACTIVE,
        (_E.ACTIVE, _T.STOP): _E.STOPPING,
        (_E.PAUSED, _T.STOP): _E.STOPPING,
        **{
            (state, trigger): after
            for state in (_E.ACTIVE, _E.PAUSED, _E.STOPPING)
            for trigger, after in {
                _T.COMPLETE: _E.COMPLETED,
                _T.FAIL: _E.ERROR,
                _T.CANCEL: _E.CANCELLED,
                _T.REJECT: _E.REJECTED,
            }.items()
        },
    },
    ignored={(_E.PAUSED, _T.PAUSE), (_E.ACTIVE, _T.RESUME), (_E.STOPPING, _T.STOP)},
    final={_E.COMPLETED, _E.ERROR, _E.CANCELLED, _E.REJECTED},
)


ONGOING = (_E.ACTIVE, _E.PAUSED)
"""States in which a search may still create trials."""


class TrialState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    STOPPING = "stopping"
    """The trial has been asked to stop."""
    FINISHING = "finishing"
    """Its request is closed, but not everything that its last run announced has arrived."""
    COMPLETED = "completed"
    STOPPED = "stopped"
    ERROR = "error"
    CANCELLED = "cancelled"
    INVALID = "invalid"
    """The script reported its hyperparameters as invalid; another trial replaced it."""


class TrialTrigger(StrEnum):
    GRANTED = "granted"
    REQUEUED = "requeued"
    PARKED = "parked"
    WANTED = "wanted"
    """Requested again after it was parked."""
    STOP_REQUESTED = "stop_requested"
    """Asked to stop."""
    CLOSED = "closed"
    """Its request is closed and no further request follows."""
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INVALID = "invalid"


_S, _R = TrialState, TrialTrigger
_LIVE = (_S.QUEUED, _S.RUNNING, _S.PARKED, _S.STOPPING, _S.FINISHING)

TRIAL = StateMachine(
    name="trial",
    initial=_S.QUEUED,
    table={
        (_S.QUEUED, _R.GRANTED): _S.RUNNING,
        (_S.RUNNING, _R.REQUEUED): _S.QUEUED,
        (_S.QUEUED, _R.PARKED): _S.PARKED,
        (_S.RUNNING, _R.PARKED): _S.PARKED,
        (_S.PARKED, _R.WANTED): _S.QUEUED,
        (_S.RUNNING, _R.WANTED): _S.QUEUED,
        (_S.QUEUED, _R.STOP_REQUESTED): _S.STOPPING,
        (_S.RUNNING, _R.STOP_REQUESTED): _S.STOPPING,
        (_S.PARKED, _R.STOP_REQUESTED): _S.STOPPING,
        **{(state, _R.CLOSED): _S.FINISHING for state in (_S.QUEUED, _S.RUNNING, _S.PARKED, _S.STOPPING)},
        **{
            (state, trigger): after
            for state in _LIVE
            for trigger, after in {
                _R.COMPLETED: _S.COMPLETED,
                _R.STOPPED: _S.STOPPED,
                _R.FAILED: _S.ERROR,
                _R.CANCELLED: _S.CANCELLED,
                _R.INVALID: _S.INVALID,
            }.items()
        },
    },
    ignored={
        # Grants and ends of runs may arrive out of order, and cross the searcher's own requests.
        (_S.RUNNING, _R.GRANTED),
        (_S.PARKED, _R.GRANTED),
        (_S.STOPPING, _R.GRANTED),
        (_S.QUEUED, _R.REQUEUED),
        (_S.PARKED, _R.REQUEUED),
        (_S.STOPPING, _R.REQUEUED),
        (_S.STOPPING, _R.STOP_REQUESTED),
        (_S.STOPPING, _R.PARKED),
        (_S.FINISHING, _R.GRANTED),
        (_S.FINISHING, _R.REQUEUED),
        (_S.PARKED, _R.PARKED),
        (_S.QUEUED, _R.WANTED),
    },
    final={_S.COMPLETED, _S.STOPPED, _S.ERROR, _S.CANCELLED, _S.INVALID},
)
