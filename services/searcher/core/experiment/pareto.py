"""The Pareto front: trials whose best result no other's beats in every metric."""

from collections.abc import Mapping, Sequence

from services.searcher.core.experiment.entities import ScoredValidation
from services.searcher.core.experiment.objectives import Objectives

FrontPosition = tuple[float, int]
"""Where a trial stands in a front that is shown: its first metric, smaller where better, and its number."""


def pareto_front_of(
    objectives: Objectives, bests: Mapping[int, ScoredValidation]
) -> dict[FrontPosition, ScoredValidation]:
    """Return the front of the trials with these best results (admissible ones), in the order of their places."""
    numbers = sorted(bests)
    losses = [objectives.losses(bests[number]) for number in numbers]
    front = pareto_front(losses)
    places = {(losses[index][0], numbers[index]): bests[numbers[index]] for index in front}
    return {place: places[place] for place in sorted(places)}


def pareto_front(losses: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the indices of those that none dominates, lexicographically smallest first, equals by index.

    One dominates another that is nowhere smaller and somewhere larger; equals do not dominate each other, and all stay. Once
    sorted, only one that comes before can dominate (Kung, Luccio and Preparata 1975), so each is held against the front so far.
    """
    front: list[int] = []
    for index in sorted(range(len(losses)), key=lambda index: losses[index]):
        if not any(_dominates(losses[better], losses[index]) for better in reversed(front)):
            front.append(index)
    return front


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= yours for mine, yours in zip(one, other, strict=True))
