"""`searcher.warm_start` of the config: prior observations."""

from typing import Annotated

from pydantic import Field, JsonValue

from muster.config.base_section import Section, refusal, rule

MOST_POINTS = 1000


class WarmStart(Section):
    """Prior observations of a search.

    Attributes:
        points: Points of the space to try first, each with a value for every active hyperparameter that varies.
        experiments: Numbers of earlier experiments with the same workspace and metric. A learning sampler gets the results of
            their trials whose points fit this space.
        best: Number of their best points to try first, after `points`.
    """

    points: tuple[dict[str, JsonValue], ...] = Field(default=(), max_length=MOST_POINTS, strict=False)
    experiments: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), max_length=32, strict=False)
    best: int | None = Field(default=None, ge=1, le=MOST_POINTS)

    @rule
    def _has_observations(self) -> None:
        if not self.points and not self.experiments:
            raise refusal("a warm start needs points, experiments or both", hint="e.g. experiments: [12]")
        if self.best is not None and not self.experiments:
            raise refusal("'best' needs 'experiments', which is empty", "best")
