"""A search that a program drives: what it told is carried out, and what it is to know is read from the journal.

An event's number is the position of its entry, so that nothing else counts them; several of one number happened at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from muster.config import Point
from services.searcher.core.experiment.states import ExperimentTrigger, TrialState
from services.searcher.core.journal.journal import Entry, Journal
from services.searcher.core.methods.custom import Operation, Verb
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.closing import Closing
from services.searcher.core.reducers.places import Places
from shared.messages.specs import Wanted
from shared.tuples import changed

GAVE_UP = "its program gave the search up"


@dataclass(frozen=True, slots=True)
class DriverEvent:
    """What a program is told of a trial.

    Attributes:
        key: The program's name of the trial, `trial` its number; None for one that ended without having begun.
        point: Of `created`: its hyperparameters.
        time: Of `validation`: how far it is.
        value: The metric: of `validation` there, of `ended` the best; None where it is no finite number, or the trial was no good.
        others: Beside the value: what counts of the config's further `metrics` and `limits`.
        state: Of `ended`: the state in which it ended, with the `reason` where there is one.
    """

    number: int
    kind: Literal["created", "validation", "ended"]
    key: str
    trial: int | None
    point: Point | None = None
    time: float | None = None
    value: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)
    state: str | None = None
    reason: str | None = None


def events_of(entry: Entry) -> Iterator[DriverEvent]:
    """Yield what a program is told by one entry of its search's journal, in order."""
    facts: dict[str, Any] = entry.facts
    told = {name: facts[name] for name in ("time", "value", "others", "state", "reason") if name in facts}
    if entry.kind == "judged":
        yield DriverEvent(entry.position, "validation", facts["key"], facts["trial"], **told)
    elif entry.kind == "observed":
        yield DriverEvent(entry.position, "ended", facts["key"], facts["trial"], **told)
    for key in facts.get("dropped", ()):
        yield DriverEvent(entry.position, "ended", key, None, state=TrialState.STOPPED.value)
    for made in facts.get("created", ()):
        yield DriverEvent(
            entry.position, "created", made["key"], made["trial"], point=made["hyperparameters"]
        )


@dataclass(frozen=True, slots=True)
class Driving:
    """A turn's part that carries out what a program told."""

    changes: Changes
    journal: Journal
    places: Places
    closing: Closing

    def tell(self, operations: Sequence[Operation]) -> None:
        """Make, continue and end the trials that were named; the last words end the search."""
        told = self.journal.tell(operations)
        self.places.fill(told.moves)
        for step in told.kept:
            self.places.keep(step)
        for number in told.stopped:
            self._stop(number)
        self.closing.measure()
        last = next((each for each in reversed(operations) if each.verb in (Verb.SHUTDOWN, Verb.FAIL)), None)
        if last is not None and last.verb is Verb.FAIL:
            self.closing.stop(ExperimentTrigger.FAIL, last.reason or GAVE_UP, Wanted.KILL)
        elif last is not None:
            experiment = self.changes.experiment
            self.changes.experiment = changed(experiment, reason=last.reason or experiment.reason)
        self.closing.end_rest(())

    def _stop(self, number: int) -> None:
        trial = self.changes[number]
        if trial.is_final or trial.closed is not None:
            return
        trial = self.changes.put(changed(trial, is_stopped=True, is_held=False, decide_at=None))
        self.closing.end(trial, Wanted.STOP)
