"""The port of every sampler: where in the space the next trial is to look."""

from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from muster.config import Point


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point, and what the sampler must be given with it to go on from there (the journal keeps both)."""

    point: Point
    memo: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a trial came to.

    Attributes:
        value: Of the first metric, smaller where better; None where the trial failed.
        time: How far it was judged when the search stopped it, None where it ran to its end.
        others: Of further metrics, in the config's order, smaller where better.
        excesses: By how much it misses each limit, in the config's order; above 0 where it does.
    """

    value: float | None
    time: float | None = None
    others: tuple[float, ...] = ()
    excesses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class RungResult:
    """What a trial had come to at a rung.

    Attributes:
        time: The rung's.
        value: Smaller where better, infinity worst.
        goes_on: Whether it went on from there at once.
    """

    time: float
    value: float
    goes_on: bool


class Sampler(Protocol):
    """Equal sequences of calls give equal suggestions; `take` in place of `propose` changes none of those that follow."""

    @property
    def learns(self) -> bool:
        """Whether observations change what it proposes."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether it must be given back what it has proposed; else it proposes the same again."""
        ...

    def learn(self, point: Point, observation: Observation) -> None:
        """Take in what a trial of an earlier search came to; before anything is proposed."""
        ...

    def propose(self, trial: int) -> Suggestion:
        """Return a point for a new trial, while those without an observation are pending."""
        ...

    def take(self, trial: int, suggestion: Suggestion) -> None:
        """Take in what was proposed for a trial before."""
        ...

    def reach(self, trial: int, standing: RungResult) -> None:
        """Take in what a trial had come to at a rung, once for each; before `observe`."""
        ...

    def observe(self, trial: int, observation: Observation) -> None:
        """Take in what a trial came to, once for each."""
        ...
