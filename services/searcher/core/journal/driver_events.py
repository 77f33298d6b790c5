"""Events for a driver program, read from the search's journal.

An event's number is the position of its journal entry. Several events with one number happened at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from muster.config import Point
from services.searcher.core.experiment.states import TrialState
from services.searcher.core.journal.entries import Entry


@dataclass(frozen=True, slots=True)
class DriverEvent:
    """An event about a trial.

    Attributes:
        key: The driver program's name for the trial. `trial` is its number, None if it ended before it started.
        point: For `created`: its hyperparameters.
        time: For `validation`: the trial's time.
        value: The metric: for `validation` at that time, for `ended` the best. None if it is not finite or the trial
            has no result.
        others: Values of the config's further `metrics` and `limits`.
        state: For `ended`: the final state; `reason` explains it where there is one.
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
    """Yield the events of one journal entry, in order."""
    facts: dict[str, Any] = entry.facts
    fields = {name: facts[name] for name in ("time", "value", "others", "state", "reason") if name in facts}
    if entry.kind == "judged":
        yield DriverEvent(entry.position, "validation", facts["key"], facts["trial"], **fields)
    elif entry.kind == "observed":
        yield DriverEvent(entry.position, "ended", facts["key"], facts["trial"], **fields)
    for key in facts.get("dropped", ()):
        yield DriverEvent(entry.position, "ended", key, None, state=TrialState.STOPPED.value)
    for made in facts.get("created", ()):
        yield DriverEvent(
            entry.position, "created", made["key"], made["trial"], point=made["hyperparameters"]
        )
