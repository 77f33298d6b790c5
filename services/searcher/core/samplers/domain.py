"""The space with its conditions and constraints: which points there are."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.config import Constraint, ExperimentConfig, Point, Space
from services.searcher.core.samplers.drawing import Generator, Stream, draw_point
from shared.errors import Rejected

CHECKED_POINTS = 10_000
"""So many random points are looked at before a space counts as empty."""
_MOST_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Domain:
    """What every sampler draws from."""

    space: Space
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, config: ExperimentConfig) -> "Domain":
        return cls(config.hyperparameters, config.read_constraints())

    def admits(self, point: Point) -> bool:
        """Whether a point, its inactive parameters left out, meets every constraint."""
        return all(constraint.is_met(point) for constraint in self.constraints)

    def draw(self, generator: Generator) -> Point:
        """Return a random point that meets every constraint: the first of those drawn."""
        for _ in range(_MOST_DRAWS):
            point = draw_point(self.space, generator)
            if self.admits(point):
                return point
        raise Rejected("space_empty", f"none of {_MOST_DRAWS} random points meets the constraints")

    def check(self) -> None:
        """Raises Rejected, naming the constraint that excludes the most, where no point seems to meet all."""
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
            f"none of {CHECKED_POINTS} random points meets all of the constraints",
            f"constraints[{list(missed).index(worst)}]",
            f"'{worst}' alone excludes {missed[worst]} of them; widen it or the ranges that it speaks of",
        )

    def _looked_at(self) -> Iterator[Point]:
        stream = Stream(0, 0)
        return (draw_point(self.space, stream) for _ in range(CHECKED_POINTS))
