"""What neighbours must learn of what happened; the cycle turns facts into messages, in order."""

from dataclasses import dataclass

from services.scheduler.core.run import Ending, Exit, RequestOutcome, Run
from services.scheduler.core.trial import Trial
from services.scheduler.core.worker import Worker


@dataclass(frozen=True, slots=True)
class Granted:
    """A run was made, with its slots."""

    run: Run
    trial: Trial


@dataclass(frozen=True, slots=True)
class Ended:
    """`exit` None: a lost run, of which nothing is known."""

    run: Run
    trial: Trial
    ending: Ending
    exit: Exit | None


@dataclass(frozen=True, slots=True)
class Closed:
    """A request has come to its one end. `is_invalid`: its script calls its hyperparameters invalid."""

    trial: Trial
    outcome: RequestOutcome
    reason: str | None = None
    is_invalid: bool = False


@dataclass(frozen=True, slots=True)
class WorkerUp:
    """Its slots can be granted, or something about it has changed. `worker` is the record itself, as it is when told."""

    worker: Worker


@dataclass(frozen=True, slots=True)
class WorkerDown:
    """A worker was given up."""

    worker: Worker
    reason: str


@dataclass(frozen=True, slots=True)
class WorkerEmptied:
    """A draining worker holds nothing any more."""

    worker: Worker


Fact = Granted | Ended | Closed | WorkerUp | WorkerDown | WorkerEmptied
