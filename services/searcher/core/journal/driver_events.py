"""What a program that drives a search is to know, read from the search's journal.

An event's number is the position of its entry, so that nothing else counts them; several of one number happened at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from muster.config import Point
from services.searcher.core.experiment.states import TrialState
from services.searcher.core.journal.entries import Entry


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
