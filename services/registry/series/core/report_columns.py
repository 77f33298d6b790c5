"""Converts reports (rows) into points of series (columns). Uses Python lists, since numpy costs more than it saves for a few dozen points. Pure.

Trainings report the same metrics repeatedly. So consecutive reports of a group with equal names are collected as rows and transposed
together, and their names are checked once.
"""

from collections.abc import Callable, Collection, Mapping, ValuesView
from dataclasses import dataclass, field

from services.registry.series.core.names import SeriesName


@dataclass(slots=True)
class SeriesPoints:
    """Points of one series in reporting order: record numbers, steps, milliseconds, values; four columns of equal length."""

    seqs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(slots=True)
class _Alike:
    """Consecutive reports of one group with equal metric names. `kept`: the accepted names."""

    names: tuple[str, ...]
    kept: Collection[str]
    seqs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    rows: list[ValuesView[float]] = field(default_factory=list)


Judge = Callable[[str, tuple[str, ...]], Collection[str]]
"""Returns which metrics of a group are accepted."""


class ReportColumns:
    """Collects reports in order and returns their points by series."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._open: dict[str, _Alike] = {}
        self._series: dict[SeriesName, SeriesPoints] = {}

    def take(
        self, seq: int, group: str, step: int, time_ms: int, values: Mapping[str, float]
    ) -> Collection[str]:
        """Add one record's values for a group, and return the accepted names."""
        names = tuple(values)
        alike = self._open.get(group)
        if alike is None or alike.names != names:
            self._close(group)
            alike = self._open[group] = _Alike(names, self._judge(group, names))
        alike.seqs.append(seq)
        alike.steps.append(step)
        alike.times_ms.append(time_ms)
        alike.rows.append(values.values())
        return alike.kept

    def series(self) -> dict[SeriesName, SeriesPoints]:
        """Return all points so far."""
        for group in self._open:
            self._close(group)
        self._open.clear()
        return self._series

    def _close(self, group: str) -> None:
        alike = self._open.get(group)
        if alike is None:
            return
        for name, column in zip(alike.names, zip(*alike.rows, strict=True), strict=True):
            if name in alike.kept:
                arrived = self._series.setdefault((group, name), SeriesPoints())
                arrived.seqs += alike.seqs
                arrived.steps += alike.steps
                arrived.times_ms += alike.times_ms
                arrived.values += column
