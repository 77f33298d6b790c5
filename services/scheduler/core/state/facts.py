"""What neighbours must learn of what happened; the cycle turns facts into messages, in order."""

from datetime import datetime
from typing import NamedTuple

from services.scheduler.core.state.records.outcomes import RequestOutcome, RunEnding
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import Worker


class Granted(NamedTuple):
    """A run was made, with its slots, for which its trial has waited since then."""

    run: Run
    trial: Trial
    waited_since: datetime


class Resized(NamedTuple):
    """A run goes on with other slots."""

    run: Run
    trial: Trial


class Ended(NamedTuple):
    """`exit` None: a lost run, of which nothing is known."""

    run: Run
    trial: Trial
    ending: RunEnding
    exit: RunExit | None


class Closed(NamedTuple):
    """A request has come to its one end. `is_invalid`: its script calls its hyperparameters invalid."""

    trial: Trial
    outcome: RequestOutcome
    reason: str | None = None
    is_invalid: bool = False


class WorkerUp(NamedTuple):
    """Its slots can be granted, or something about it has changed. `worker` is the record as it was then."""

    worker: Worker


class WorkerDown(NamedTuple):
    """A worker was given up."""

    worker: Worker
    reason: str


class WorkerRemoved(NamedTuple):
    """A worker that was given up will not come back."""

    worker: Worker
    reason: str


class WorkerEmptied(NamedTuple):
    """A draining worker holds nothing any more."""

    worker: Worker


Fact = Granted | Resized | Ended | Closed | WorkerUp | WorkerDown | WorkerRemoved | WorkerEmptied
