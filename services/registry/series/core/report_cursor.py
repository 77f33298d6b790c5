"""What a trial has reported behind a place, in the order of its reporting: as somebody follows it who may come back. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from services.registry.series.core.chunks import Columns
from services.registry.series.core.steps import EVERY_STEP

MEASURED = ("system", "timing")
"""Groups of what the platform measures: of journals of their own, whose records are numbered apart."""


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Behind a record of a run, with the highest step and the number of points up to there."""

    run: int = 0
    record: int = -1
    step: int = EVERY_STEP[0]
    count: int = 0


@dataclass(frozen=True, slots=True)
class Reported:
    """Points of one series, or those from a step on; `count` is how many the series has in all."""

    run: int
    group: str
    name: str
    count: int
    points: Columns


class StoredPoint(NamedTuple):
    """One point. In the order of telling: by run and record."""

    run: int
    record: int
    group: str
    name: str
    step: int
    time_ms: int
    value: float


def has_missed(series: Iterable[Reported], after: ReadPosition) -> bool:
    """Whether the run at `after` has more points than were told and are here: its steps have gone back, and it must be read whole."""
    own = [one for one in series if one.run == after.run]
    here = sum(int((one.points.seqs > after.record).sum()) for one in own)
    return after.count + here < sum(one.count for one in own)


def recount(series: Iterable[Reported], after: ReadPosition) -> ReadPosition:
    """Return the place with the number of points that lie before it, of series that were read whole."""
    before = (int((one.points.seqs <= after.record).sum()) for one in series if one.run == after.run)
    return replace(after, count=sum(before))


def choose_new(
    series: Iterable[Reported], after: ReadPosition, limit: int
) -> tuple[list[StoredPoint], ReadPosition, bool]:
    """Return the points behind a place, of whole records and about `limit` of them; the place behind them; and whether that is all."""
    new = sorted(told for one in series for told in _told(one) if told[:2] > (after.run, after.record))
    end = limit
    while 0 < end < len(new) and new[end][:2] == new[end - 1][:2]:
        end += 1
    shown = new[:end]
    return shown, _behind(shown, after), end >= len(new)


def _told(series: Reported) -> Iterable[StoredPoint]:
    points = series.points
    columns = (points.seqs.tolist(), points.steps.tolist(), points.times_ms.tolist(), points.values.tolist())
    for record, step, time_ms, value in zip(*columns, strict=True):
        yield StoredPoint(series.run, record, series.group, series.name, step, time_ms, value)


def _behind(shown: Sequence[StoredPoint], after: ReadPosition) -> ReadPosition:
    if not shown:
        return after
    run, record = shown[-1][:2]
    before = after if run == after.run else ReadPosition(run)
    own = [told.step for told in shown if told.run == run]
    return ReadPosition(run, record, max(before.step, *own), before.count + len(own))
