"""Position in the stream of all trials of an experiment, as used in cursors: the finished trials, and the position in each other trial. Pure."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from muster.errors import Rejected
from services.gateway.metrics.positions import BEGIN, StreamPosition, parse_position

MAX_CURSOR_CHARS = 6000
"""Maximum length of a cursor, which must fit into a header. Trials with the highest numbers are dropped, and repeat from their start on resuming."""
_NOTHING = "begin"
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_OPEN = re.compile(r"(\d{1,9}):([-.\d]{1,70})")


@dataclass(slots=True)
class ExperimentPosition:
    """`done`: ranges of trial numbers whose reports are all sent. `at`: positions by trial number. Other trials have not been sent yet."""

    done: list[tuple[int, int]] = field(default_factory=list)
    at: dict[int, StreamPosition] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [str(low) if low == high else f"{low}-{high}" for low, high in self.done]
        parts += [f"{number}:{place}" for number, place in sorted(self.at.items())]
        while parts and sum(map(len, parts)) + len(parts) > MAX_CURSOR_CHARS:
            parts.pop()
        return ",".join(parts) or _NOTHING

    def is_done(self, number: int) -> bool:
        """Return whether all reports of this trial are sent."""
        before = bisect_right(self.done, (number, 10**9))
        return before > 0 and self.done[before - 1][1] >= number

    def of(self, number: int) -> StreamPosition:
        """Return the position in this trial."""
        return self.at.get(number, BEGIN)

    def reach(self, number: int, place: StreamPosition) -> None:
        """Set the position in this trial."""
        if place != BEGIN:
            self.at[number] = place

    def finish(self, number: int) -> None:
        """Mark the trial as completely sent."""
        self.at.pop(number, None)
        self.done = _merged([*self.done, (number, number)])


def parse_experiment_position(text: str) -> ExperimentPosition:
    """Parse a cursor. Raises Rejected."""
    found = ExperimentPosition()
    if text == _NOTHING:
        return found
    if len(text) > MAX_CURSOR_CHARS:
        raise _no_cursor()
    ranges: list[tuple[int, int]] = []
    for part in text.split(","):
        if (one := _RANGE.fullmatch(part)) is not None:
            ranges.append((int(one[1]), int(one[2] or one[1])))
        elif (one := _OPEN.fullmatch(part)) is not None:
            found.at[int(one[1])] = parse_position(one[2])
        else:
            raise _no_cursor()
    if any(low > high for low, high in ranges) or any(one[1] >= two[0] for one, two in pairwise(ranges)):
        raise _no_cursor()
    found.done = _merged(ranges)
    return found


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort ranges and merge adjacent ones."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _no_cursor() -> Rejected:
    return Rejected("cursor_invalid", "this is not the cursor of a value reported in an experiment", "after")
