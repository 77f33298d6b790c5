"""Tables of trained configurations whose best is known, and a search's way through one of them, some trials at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Place = Mapping[str, int]
"""A configuration: of each parameter, which of its choices."""


@dataclass(frozen=True, slots=True)
class Table:
    """A full grid: `loss` and `seconds` have an axis for each parameter; ordered ones are numbers, the others choices without order."""

    name: str
    loss: NDArray[np.float64]
    seconds: NDArray[np.float64]
    parameters: Mapping[str, int]
    ordered: frozenset[str]

    def regret(self, loss: float) -> float:
        """How far a loss is above the best, 1 being as far as the mean configuration."""
        best = float(self.loss.min())
        return (loss - best) / (float(self.loss.mean()) - best)

    def at(self, place: Place) -> tuple[float, float]:
        """Return loss and seconds of a configuration."""
        index = tuple(place[name] for name in self.parameters)
        return float(self.loss[index]), float(self.seconds[index])


class Asked(Protocol):
    """Who proposes configurations and learns from them."""

    def ask(self, trial: int) -> Place:
        """Return the configuration of a new trial, while those without a loss are under way."""
        ...

    def tell(self, trial: int, loss: float) -> None: ...


def read_table(path: Path) -> Table:
    with np.load(path) as stored:
        names = [str(name) for name in stored["names"]]
        loss = stored["loss"]
        ordered = frozenset(name for name, one in zip(names, stored["is_ordered"], strict=True) if one)
        return Table(path.stem, loss, stored["seconds"], dict(zip(names, loss.shape, strict=True)), ordered)


def play(table: Table, asked: Asked, trials: int, at_once: int) -> tuple[list[Place], list[float]]:
    """Return the configurations in the order of asking, and the losses in the order of telling; each takes its time."""
    positions: list[Place] = []
    losses: list[float] = []
    under_way: list[tuple[float, int]] = []
    now = 0.0
    while len(losses) < trials:
        while len(under_way) < at_once and len(positions) < trials:
            positions.append(asked.ask(len(positions) + 1))
            heappush(under_way, (now + table.at(positions[-1])[1], len(positions)))
        now, trial = heappop(under_way)
        losses.append(table.at(positions[trial - 1])[0])
        asked.tell(trial, losses[-1])
    return positions, losses
