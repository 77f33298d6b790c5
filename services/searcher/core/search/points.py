"""Choose the point of a new trial: an explicit one, a recorded one, one to try first, or the sampler's proposal."""

from collections import deque
from collections.abc import Iterable, Mapping

from muster.config import Point
from services.searcher.core.methods.interface import StartTrial
from services.searcher.core.samplers import Sampler, Suggestion


class PointSource:
    """Points to try first keep their order; the sampler also learns of the points that it did not propose."""

    def __init__(self, sampler: Sampler, first: Iterable[Point]) -> None:
        self._sampler = sampler
        self._first = deque(first)
        self._given: dict[int, Suggestion] = {}

    def try_first(self, points: Iterable[Point]) -> None:
        """Add points to try before any proposal."""
        self._first.extend(points)

    def restore_suggestions(self, suggestions: Mapping[int, Suggestion]) -> None:
        """Add the recorded points of trials that are about to be created again."""
        self._given.update(suggestions)

    def choose(self, trial: int, start: StartTrial) -> Suggestion:
        """Return a new trial's point."""
        given, point = self._given.pop(trial, None), self._point(start)
        if point is not None:
            given = Suggestion(point)
        elif given is None or not self._sampler.remembers:
            return self._sampler.propose(trial)
        self._sampler.take(trial, given)
        return given

    def _point(self, start: StartTrial) -> Point | None:
        """Return an explicit point or the next one to try first; None: ask the sampler."""
        is_given = start.point is not None or start.source is not None
        return start.point if is_given or not self._first else self._first.popleft()
