"""The table that searches are measured on, and which of its rows answers for a point.

Every decision class is told the space in coordinates in which `make_table` drew it evenly: five numbers from 0 to 1, and which of six
batch sizes. A point is answered by the nearest row that the search has not been given yet (Euclidean, all six
coordinates stretched to 0..1; the lower row of two as near): a search that proposes freely never meets the same curve twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROWS, EPOCHS = 1000, 81
PATH = Path(__file__).with_name("table.npz")
SIZES = 6
"""Batch sizes: 16 to 512, powers of two."""
RANGES: Mapping[str, tuple[float, float, bool]] = {
    "lr": (1e-5, 3.0, True),
    "momentum": (0.0, 0.99, False),
    "batch_size": (16.0, 16.0 * 2 ** (SIZES - 1), True),
    "hidden": (8.0, 256.0, True),
    "dropout": (0.0, 0.7, False),
    "weight_decay": (1e-6, 0.1, True),
}
"""Lowest and highest value of each hyperparameter, and whether it was drawn evenly in its logarithm."""
FREE = tuple(name for name in RANGES if name != "batch_size")
GOAL_RANK = 5
"""A search is there when a validation is as good as the last one of the configuration of this rank."""


@dataclass(frozen=True, slots=True)
class Table:
    """Row by row and epoch by epoch: the share of the held digits that was right, and the seconds that the epoch took.

    Attributes:
        coordinates: The rows' points, each of six coordinates stretched to 0..1, in the order of `RANGES`.
    """

    coordinates: NDArray[np.float64]
    accuracy: Sequence[Sequence[float]]
    epoch_s: Sequence[Sequence[float]]

    @property
    def goal(self) -> float:
        return sorted((row[-1] for row in self.accuracy), reverse=True)[GOAL_RANK - 1]


class Rows:
    """One search's way through the table: hands each row out once."""

    def __init__(self, table: Table) -> None:
        self._coordinates = table.coordinates
        self._given = np.zeros(len(table.coordinates))

    def nearest(self, point: Mapping[str, float]) -> int:
        """Return the row that answers for `point` (coordinates by hyperparameter); it is not given again."""
        wanted = np.array([_stretched(name, point[name]) for name in RANGES])
        distances = ((self._coordinates - wanted) ** 2).sum(1) + self._given
        row = int(distances.argmin())
        self._given[row] = np.inf
        return row


def load_table() -> Table:
    with np.load(PATH) as stored:
        columns = [_drawn(stored[name].astype(np.float64), *RANGES[name]) for name in RANGES]
        accuracy = stored["correct"] / float(stored["held"])
        return Table(np.stack(columns, 1), accuracy.tolist(), (stored["epoch_us"] / 1e6).tolist())


def _drawn(values: NDArray[np.float64], low: float, high: float, is_log: bool) -> NDArray[np.float64]:
    if is_log:
        return np.asarray(np.log(values / low) / np.log(high / low))
    return (values - low) / (high - low)


def _stretched(name: str, value: float) -> float:
    return value / (SIZES - 1) if name == "batch_size" else value
