"""The search space with its conditions and constraints."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.config import Constraint, ExperimentConfig, Point, Space
from services.searcher.core.samplers.drawing import Generator, Stream, draw_point
from shared.errors import Rejected

CHECKED_POINTS = 10_000
"""Number of random points to check before a space counts as empty."""
_MOST_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Domain:
    """The space and the constraints that every sampler draws from."""

    space: Space
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, config: ExperimentConfig) -> "Domain":
        return cls(config.hyperparameters, config.read_constraints())

    def admits(self, point: Point) -> bool:
        """Whether a point without its inactive parameters meets every constraint."""
        return all(constraint.is_met(point) for constraint in self.constraints)

    def draw(self, generator: Generator) -> Point:
        """Return a random point that meets every constraint, by rejection sampling."""
        for _ in range(_MOST_DRAWS):
            point = draw_point(self.space, generator)
            if self.admits(point):
                return point
        raise Rejected("space_empty", f"none of {_MOST_DRAWS} random points meets all constraints")

    def check(self) -> None:
        """Raise Rejected if no point seems to meet all constraints, with the one that excludes the most."""
        if not self.constraints:
            return
        missed = dict.fromkeys((each.text for each in self.constraints), 0)
        for point in self._looked_at():
            if self.admits(point):
                return
            for each in self.constraints:
                missed[each.text] += not each.is_met(point)
        worst = max(missed, key=lambda text: missed[text])
        raise Rejected(
            "space_empty",
            f"none of {CHECKED_POINTS} random points meets all constraints",
            f"constraints[{list(missed).index(worst)}]",
            f"'{worst}' alone excludes {missed[worst]} of them; relax it or widen the ranges of its parameters",
        )

    def _looked_at(self) -> Iterator[Point]:
        stream = Stream(0, 0)
        return (draw_point(self.space, stream) for _ in range(CHECKED_POINTS))
