"""Incremental reading of a trial's reports after a position, in reporting order, for clients that poll. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from services.registry.series.core.chunks import Columns
from services.registry.series.core.steps import EVERY_STEP

MEASURED = ("system", "timing")
"""Groups measured by the platform: separate journals with their own record numbers."""


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Position after a record of a run, with the highest step and the number of points up to there."""

    run: int = 0
    record: int = -1
    step: int = EVERY_STEP[0]
    count: int = 0


@dataclass(frozen=True, slots=True)
class Reported:
    """Points of one series, or those from a step on. `count`: the series' total number of points."""

    run: int
    group: str
    name: str
    count: int
    points: Columns


class StoredPoint(NamedTuple):
    """One point, ordered by run and record."""

    run: int
    record: int
    group: str
    name: str
    step: int
    time_ms: int
    value: float


def has_missed(series: Iterable[Reported], after: ReadPosition) -> bool:
    """Return whether the run at `after` has points that were neither returned nor loaded: its steps went back, and it must be read whole."""
    own = [one for one in series if one.run == after.run]
    here = sum(int((one.points.seqs > after.record).sum()) for one in own)
    return after.count + here < sum(one.count for one in own)


def recount(series: Iterable[Reported], after: ReadPosition) -> ReadPosition:
    """Return the position with the number of points before it, from series that were read whole."""
    before = (int((one.points.seqs <= after.record).sum()) for one in series if one.run == after.run)
    return replace(after, count=sum(before))


def choose_new(
    series: Iterable[Reported], after: ReadPosition, limit: int
) -> tuple[list[StoredPoint], ReadPosition, bool]:
    """Return about `limit` points after a position, in complete records; the position after them; and whether that is all."""
    new = sorted(point for one in series for point in _points(one) if point[:2] > (after.run, after.record))
    end = limit
    while 0 < end < len(new) and new[end][:2] == new[end - 1][:2]:
        end += 1
    page = new[:end]
    return page, _position_after(page, after), end >= len(new)


def _points(series: Reported) -> Iterable[StoredPoint]:
    points = series.points
    columns = (points.seqs.tolist(), points.steps.tolist(), points.times_ms.tolist(), points.values.tolist())
    for record, step, time_ms, value in zip(*columns, strict=True):
        yield StoredPoint(series.run, record, series.group, series.name, step, time_ms, value)


def _position_after(page: Sequence[StoredPoint], after: ReadPosition) -> ReadPosition:
    if not page:
        return after
    run, record = page[-1][:2]
    before = after if run == after.run else ReadPosition(run)
    own = [point.step for point in page if point.run == run]
    return ReadPosition(run, record, max(before.step, *own), before.count + len(own))
