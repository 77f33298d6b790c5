"""`searcher.warm_start` of the config: what a search knows before its first trial."""

from typing import Annotated

from pydantic import Field, JsonValue

from muster.config.section import Section, refusal, rule

MOST_POINTS = 1000


class WarmStart(Section):
    """What is known already.

    Attributes:
        points: Points of the space to try first, each with a value for every parameter that varies and takes part.
        experiments: Numbers of earlier experiments of the same workspace and metric. What their trials came to is told to a sampler
            that learns, as far as their points fit this space.
        best: So many of their best points are tried first, after `points`.
    """

    points: tuple[dict[str, JsonValue], ...] = Field(default=(), max_length=MOST_POINTS, strict=False)
    experiments: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), max_length=32, strict=False)
    best: int | None = Field(default=None, ge=1, le=MOST_POINTS)

    @rule
    def _says_something(self) -> None:
        if not self.points and not self.experiments:
            raise refusal("a warm start names points, experiments or both", hint="e.g. experiments: [12]")
        if self.best is not None and not self.experiments:
            raise refusal("these are the best points of 'experiments', and none is named", "best")
