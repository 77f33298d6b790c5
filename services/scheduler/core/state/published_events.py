"""Events to publish. The cycle turns them into messages, in order."""

from datetime import datetime
from typing import NamedTuple

from services.scheduler.core.state.records.outcomes import RequestOutcome, RunEnding
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import Worker


class Granted(NamedTuple):
    """A run was created with its slots. The trial had waited for them since `waited_since`."""

    run: Run
    trial: Trial
    waited_since: datetime


class Resized(NamedTuple):
    """A run continues with different slots."""

    run: Run
    trial: Trial


class Ended(NamedTuple):
    """A run ended. `exit` is None for a lost run."""

    run: Run
    trial: Trial
    ending: RunEnding
    exit: RunExit | None


class Closed(NamedTuple):
    """A request ended. `is_invalid`: the script reported its hyperparameters as invalid."""

    trial: Trial
    outcome: RequestOutcome
    reason: str | None = None
    is_invalid: bool = False


class WorkerUp(NamedTuple):
    """A worker accepts runs, or its record changed. `worker` is the record at that time."""

    worker: Worker


class WorkerDown(NamedTuple):
    """A worker was declared lost."""

    worker: Worker
    reason: str


class WorkerRemoved(NamedTuple):
    """A lost worker will not return."""

    worker: Worker
    reason: str


class WorkerEmptied(NamedTuple):
    """A draining worker holds no slots any more."""

    worker: Worker


Fact = Granted | Resized | Ended | Closed | WorkerUp | WorkerDown | WorkerRemoved | WorkerEmptied
