"""Positions in the stream of a trial's reports, as used in cursors. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from muster.errors import Rejected
from shared.messages.metrics import ReportCursor, ReportedPoint

_TEXT = re.compile(r"(\d{1,9})\.(-?\d{1,18})\.(-?\d{1,19})\.(\d{1,18})")


@dataclass(frozen=True, slots=True, order=True)
class StreamPosition:
    """The position after a record of a run. `step` and `count` only help the registry to find it."""

    run: int = 0
    record: int = -1
    step: int = field(default=-(2**63), compare=False)
    count: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.run}.{self.record}.{self.step}.{self.count}"


BEGIN = StreamPosition()


def parse_position(text: str) -> StreamPosition:
    """Parse a cursor. Raises Rejected."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise Rejected("cursor_invalid", f"{text!r} is not the cursor of a reported value", "after")
    return StreamPosition(*map(int, found.groups()))


def from_reported(told: ReportCursor) -> StreamPosition:
    """Convert a position from the registry's message."""
    return StreamPosition(told.run_number, told.record, told.step, told.count)


def to_reported(place: StreamPosition) -> ReportCursor:
    """Convert a position to the registry's message."""
    return ReportCursor(run_number=place.run, record=place.record, step=place.step, count=place.count)


def with_positions(
    points: Iterable[ReportedPoint], after: StreamPosition
) -> Iterator[tuple[ReportedPoint, StreamPosition, StreamPosition]]:
    """Yield each point with its position, and with the position to resume from if it was the last one received.

    Within a record of several points, resuming repeats the whole record; the two positions are equal only for its last point.
    """
    for _, record in groupby(points, key=lambda point: (point.run_number, point.record)):
        several = list(record)
        first = several[0]
        before = after if first.run_number == after.run else StreamPosition(first.run_number)
        step = max(before.step, *(point.step for point in several))
        here = StreamPosition(first.run_number, first.record, step, before.count + len(several))
        for index, point in enumerate(several, 1):
            yield point, here, here if index == len(several) else after
        after = here
