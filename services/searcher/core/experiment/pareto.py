"""The Pareto front: trials whose best result is not dominated by that of any other trial."""

from collections.abc import Mapping, Sequence

from services.searcher.core.experiment.entities import ScoredValidation
from services.searcher.core.experiment.objectives import Objectives

ParetoPosition = tuple[float, int]
"""Sort key of a trial on the front: its first metric, smaller where better, and its number."""


def pareto_front_of(
    objectives: Objectives, bests: Mapping[int, ScoredValidation]
) -> dict[ParetoPosition, ScoredValidation]:
    """Return the Pareto front of these admissible best results, sorted by key."""
    numbers = sorted(bests)
    losses = [objectives.losses(bests[number]) for number in numbers]
    indices = pareto_front(losses)
    positions = {(losses[index][0], numbers[index]): bests[numbers[index]] for index in indices}
    return {position: positions[position] for position in sorted(positions)}


def pareto_front(losses: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the indices of the points that no other dominates, in lexicographic order, equal points by index.

    A point dominates another if it is nowhere larger and somewhere smaller. Equal points do not dominate each other,
    so all of them stay. In sorted order only an earlier point can dominate (Kung, Luccio and Preparata 1975), so each
    point is compared with the front so far.
    """
    indices: list[int] = []
    for index in sorted(range(len(losses)), key=lambda index: losses[index]):
        if not any(_dominates(losses[better], losses[index]) for better in reversed(indices)):
            indices.append(index)
    return indices


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= yours for mine, yours in zip(one, other, strict=True))
