"""The interface of samplers, which propose the points of new trials."""

from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from muster.config import Point


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point, and what the sampler needs with it to continue from there; the journal stores both."""

    point: Point
    memo: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of a trial.

    Attributes:
        value: Value of the first metric, smaller where better; None if the trial failed.
        time: Time at which the search stopped it; None if it ran to its end.
        others: Values of the further metrics, in the config's order, smaller where better.
        excesses: By how much it exceeds each limit, in the config's order; above 0 where it does.
    """

    value: float | None
    time: float | None = None
    others: tuple[float, ...] = ()
    excesses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class RungResult:
    """The result of a trial at a rung.

    Attributes:
        time: Time of the rung.
        value: Smaller where better, infinity worst.
        continues: Whether the trial continued at once.
    """

    time: float
    value: float
    continues: bool


class Sampler(Protocol):
    """Equal sequences of calls give equal suggestions. Replacing `propose` with `take` does not change later suggestions."""

    @property
    def learns(self) -> bool:
        """Whether observations change what it proposes."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether a rebuilt search must give it its earlier proposals; otherwise it proposes the same again."""
        ...

    def learn(self, point: Point, observation: Observation) -> None:
        """Add the result of a trial of an earlier search, before anything is proposed."""
        ...

    def propose(self, trial: int) -> Suggestion:
        """Return a point for a new trial; trials without an observation are pending."""
        ...

    def take(self, trial: int, suggestion: Suggestion) -> None:
        """Add a trial with a suggestion made earlier."""
        ...

    def reach(self, trial: int, result: RungResult) -> None:
        """Add the result of a trial at a rung, once for each rung, before `observe`."""
        ...

    def observe(self, trial: int, observation: Observation) -> None:
        """Add the result of a trial, once."""
        ...
