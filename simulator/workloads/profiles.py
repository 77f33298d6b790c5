"""How fast and how well six published models train: measured step times and gradient noise. This is the ground
truth of a replayed job and hidden from policies. `published` lists the jobs, `training` simulates their
progress."""

import csv
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simulator.trials import Spread

EPOCHS: Mapping[str, int] = {
    "bert": 2,
    "cifar10": 100,
    "ncf": 10,
    "imagenet": 90,
    "deepspeech2": 80,
    "yolov3": 50,
}
MOST_PER_SLOT: Mapping[str, int] = {"yolov3": 8}
"""Samples that fit on a GPU, where the tables list more."""

MOST_MACHINES = 16
"""The largest measured number of machines; larger gangs are treated as this many."""

_Point = tuple[float, float, float]
_Curve = tuple[_Point, ...]
"""(samples per slot, step time, time of it spent on synchronisation), increasing in the first; times in seconds."""


@dataclass(frozen=True, slots=True)
class _Epoch:
    grad_sqr: float
    grad_var: float


class Profile:
    """One model: step times by placement and batch, gradient noise by batch and epoch, progress by epoch.

    Attributes:
        first_batch: The initial batch size (M0 of the study).
        last_batch: The largest validated batch size.
        marks: Progress at the end of each epoch, in steps of the first batch size: the minimum over all batch
            sizes, as in the study.
    """

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._curves = _placements(folder / "placements.csv")
        self._grid = _grid(self._curves, folder / "scalability.csv")
        validations = _validations(folder)
        self._batches = sorted(validations)
        self._epochs = {batch: _noise(rows) for batch, rows in validations.items()}
        self.first_batch, self.last_batch = self._batches[0], self._batches[-1]
        sizes = [point[0] for curve in self._curves.values() for point in curve]
        self.least_per_slot = int(min(sizes))
        self.most_per_slot = MOST_PER_SLOT.get(self.name, int(max(sizes)))
        self.marks = tuple(
            min(float(rows[epoch]["progress"]) for rows in validations.values())
            for epoch in range(EPOCHS[self.name])
        )
        self._known: dict[tuple[Spread, float], tuple[float, float]] = {}

    @property
    def most_slots(self) -> int:
        """With more slots, a slot would have less than the smallest measured number of samples."""
        return self.last_batch // self.least_per_slot

    def step(self, spread: Spread, per_slot: float) -> tuple[float, float]:
        """Return the seconds of one step with `per_slot` samples on each slot, and the part of it spent on
        synchronisation.

        A measured placement (or a rotation of one) is interpolated in the samples; others also in the number of
        machines and of slots per machine. Beyond the measured samples the last two points are extrapolated.
        """
        key = (spread, per_slot)
        if key not in self._known:
            smallest = min(spread[at:] + spread[:at] for at in range(len(spread)))
            curve = self._curves.get(smallest)
            self._known[key] = _along(curve, per_slot) if curve else self._between(spread, per_slot)
        return self._known[key]

    def noise(self, batch: int, epoch: int) -> tuple[float, float]:
        """Return the squared norm and the variance of the gradient in an epoch (from 0); the variance is that
        at `first_batch`."""
        below = self._batches[max(0, bisect_right(self._batches, batch) - 1)]
        above = next((size for size in self._batches if size >= batch), self.last_batch)
        low, high = self._epochs[below][epoch], self._epochs[above][epoch]
        part = (batch - below) / (above - below) if above > below else 0.0
        return _mix(low.grad_sqr, high.grad_sqr, part), _mix(low.grad_var, high.grad_var, part)

    def gain(self, batch: int, epoch: int) -> float:
        """Return the progress of one step: 1 with the first batch size, at most batch / first_batch (Pollux,
        section 3, times the scale)."""
        sqr, var = self.noise(batch, epoch)
        return (var + sqr) / (var * self.first_batch / batch + sqr)

    def _between(self, spread: Spread, per_slot: float) -> tuple[float, float]:
        machines, slots = min(len(spread), MOST_MACHINES), sum(spread)
        density = slots / len(spread)
        counts = sorted(self._grid)
        low = max(count for count in counts if count <= machines)
        high = min(count for count in counts if count >= machines)
        part = (machines - low) / (high - low) if high > low else 0.0
        below = _across(self._grid[low], density, per_slot)
        above = _across(self._grid[high], density, per_slot)
        return _mix(below[0], above[0], part), _mix(below[1], above[1], part)


@cache
def load_profile(folder: Path) -> Profile:
    """Return the profile in a folder; cached."""
    return Profile(folder)


def _placements(path: Path) -> dict[Spread, _Curve]:
    points: dict[Spread, list[_Point]] = defaultdict(list)
    for row in _rows(path):
        points[tuple(int(digit) for digit in row["placement"])].append(_point(row))
    return {spread: tuple(sorted(found)) for spread, found in points.items()}


def _grid(curves: Mapping[Spread, _Curve], path: Path) -> dict[int, dict[float, _Curve]]:
    """Return curves by machines and slots per machine. In these coordinates the measured sizes form a grid; in
    (machines, slots) they do not."""
    found: dict[tuple[int, float], dict[float, list[_Point]]] = defaultdict(lambda: defaultdict(list))
    for spread, curve in curves.items():
        for point in curve:
            found[len(spread), sum(spread) / len(spread)][point[0]].append(point)
    for row in _rows(path):
        machines, point = int(row["num_nodes"]), _point(row)
        found[machines, int(row["num_replicas"]) / machines][point[0]].append(point)
    grid: dict[int, dict[float, _Curve]] = defaultdict(dict)
    for (machines, density), by_size in found.items():
        grid[machines][density] = tuple(_mean(points) for _, points in sorted(by_size.items()))
    return dict(grid)


def _validations(folder: Path) -> dict[int, list[dict[str, str]]]:
    return {int(path.stem.split("-")[1]): _rows(path) for path in folder.glob("validation-*.csv")}


def _noise(rows: Iterable[Mapping[str, str]]) -> list[_Epoch]:
    return [_Epoch(float(row["grad_sqr"]), float(row["grad_var"])) for row in rows]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def _point(row: Mapping[str, str]) -> _Point:
    return float(row["local_bsz"]), float(row["step_time"]), float(row["sync_time"])


def _mean(points: list[_Point]) -> _Point:
    count = len(points)
    return points[0][0], sum(point[1] for point in points) / count, sum(point[2] for point in points) / count


def _across(curves: Mapping[float, _Curve], density: float, per_slot: float) -> tuple[float, float]:
    densities = sorted(curves)
    density = min(max(density, densities[0]), densities[-1])
    low = max(value for value in densities if value <= density)
    high = min(value for value in densities if value >= density)
    part = (density - low) / (high - low) if high > low else 0.0
    below, above = _along(curves[low], per_slot), _along(curves[high], per_slot)
    return _mix(below[0], above[0], part), _mix(below[1], above[1], part)


def _along(curve: _Curve, per_slot: float) -> tuple[float, float]:
    index = min(max(bisect_right(curve, per_slot, key=lambda point: point[0]), 1), len(curve) - 1)
    low, high = curve[index - 1], curve[index]
    part = (per_slot - low[0]) / (high[0] - low[0])
    return _mix(low[1], high[1], part), max(0.0, _mix(low[2], high[2], part))


def _mix(low: float, high: float, part: float) -> float:
    return low + (high - low) * part
