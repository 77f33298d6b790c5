"""Where the point of a new trial comes from: it is given, was proposed in an earlier life, is one to try first, or the sampler proposes it."""

from collections import deque
from collections.abc import Iterable, Mapping

from muster.config import Point
from services.searcher.core.methods.port import StartTrial
from services.searcher.core.samplers import Sampler, Suggestion


class PointSource:
    """Those to try first come in their order; what the sampler does not propose it is told."""

    def __init__(self, sampler: Sampler, first: Iterable[Point]) -> None:
        self._sampler = sampler
        self._first = deque(first)
        self._given: dict[int, Suggestion] = {}

    def try_first(self, points: Iterable[Point]) -> None:
        """Take in further points that are tried before any is proposed."""
        self._first.extend(points)

    def remember(self, suggestions: Mapping[int, Suggestion]) -> None:
        """Take in what these trials were given once."""
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
        """A point that is given, or of those to try first; None: the sampler is asked."""
        is_given = start.point is not None or start.source is not None
        return start.point if is_given or not self._first else self._first.popleft()
