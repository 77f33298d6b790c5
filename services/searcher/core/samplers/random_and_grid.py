"""Samplers that do not learn: random points and grid points."""

import json
import math
from array import array

from muster.config import Point, active, leaves, put
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream, grid_values
from services.searcher.core.samplers.interface import Observation, RungResult, Suggestion
from shared.errors import Rejected


class _Unlearning:
    """A sampler whose points depend only on trial numbers."""

    learns = False
    remembers = False

    def learn(self, point: Point, observation: Observation) -> None:
        """Ignored."""

    def take(self, trial: int, suggestion: Suggestion) -> None:
        """Ignored."""

    def reach(self, trial: int, result: RungResult) -> None:
        """Ignored."""

    def observe(self, trial: int, observation: Observation) -> None:
        """Ignored."""


class RandomSampler(_Unlearning):
    """`random`: trial n draws from its own stream, seeded with the experiment's seed and n."""

    def __init__(self, domain: Domain, seed: int) -> None:
        self._domain, self._seed = domain, seed

    def propose(self, trial: int) -> Suggestion:
        stream = Stream(self._seed, trial)
        stream.seed()  # The trial's own seed is the first number of its stream.
        return Suggestion(self._domain.draw(stream))


class GridSampler(_Unlearning):
    """The points of a grid, from the last to the first."""

    def __init__(self, points: "GridPoints") -> None:
        self._points = points

    @property
    def total(self) -> int:
        """Number of points."""
        return len(self._points)

    def propose(self, trial: int) -> Suggestion:
        return Suggestion(self._points[len(self._points) - trial])


class GridPoints:
    """The Cartesian product of the parameters' grid values, in the order of `leaves`, the last varying fastest.

    Points that differ only in inactive parameters count once; points that violate a constraint do not count. Raises
    Rejected if no point is left.
    """

    def __init__(self, domain: Domain) -> None:
        self._space = domain.space
        self._axes = [(path, grid_values(parameter)) for path, parameter in leaves(domain.space)]
        self._size = math.prod(len(values) for _, values in self._axes)
        self._kept: array[int] | None = None
        if domain.constraints or any(parameter.when for _, parameter in leaves(domain.space)):
            self._kept = self._admitted(domain)
            if not self._kept:
                raise Rejected("space_empty", "no point of the grid meets all constraints", "constraints")

    def __len__(self) -> int:
        return self._size if self._kept is None else len(self._kept)

    def __getitem__(self, index: int) -> Point:
        """Return point `index`, 0 to len - 1."""
        return active(self._space, self._at(index if self._kept is None else self._kept[index]))

    def _admitted(self, domain: Domain) -> "array[int]":
        seen: set[str] = set()
        kept = array("Q")
        for index in range(self._size):
            point = active(self._space, self._at(index))
            name = json.dumps(point, sort_keys=True)
            if name not in seen and domain.admits(point):
                seen.add(name)
                kept.append(index)
        return kept

    def _at(self, index: int) -> Point:
        point: Point = {}
        for path, values in reversed(self._axes):
            index, digit = divmod(index, len(values))
            put(point, path, values[digit])
        return point
