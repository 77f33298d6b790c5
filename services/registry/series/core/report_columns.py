"""Reports turned into points of series: rows into columns, in Python's own lists, since of a few dozen points numpy costs more than it saves. Pure.

Trainings report the same metrics again and again. So reports of a group that follow each other with the same names are kept as they came, and become columns
at one go; their names are judged once.
"""

from collections.abc import Callable, Collection, Mapping, ValuesView
from dataclasses import dataclass, field

from services.registry.series.core.names import SeriesName


@dataclass(slots=True)
class SeriesPoints:
    """Points of one series in the order of their reporting: record numbers, steps, milliseconds, values; four columns of one length."""

    seqs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(slots=True)
class _Alike:
    """Reports of one group, behind each other, that name the same metrics. `kept`: those of the names that are taken."""

    names: tuple[str, ...]
    kept: Collection[str]
    seqs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    rows: list[ValuesView[float]] = field(default_factory=list)


Judge = Callable[[str, tuple[str, ...]], Collection[str]]
"""Says which metrics of a group are taken."""


class ReportColumns:
    """Takes reports in order, and gives their points by series."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._open: dict[str, _Alike] = {}
        self._series: dict[SeriesName, SeriesPoints] = {}

    def take(
        self, seq: int, group: str, step: int, time_ms: int, values: Mapping[str, float]
    ) -> Collection[str]:
        """Add what one record reports of a group, and return those of its names that are taken."""
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
        """All points so far."""
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
