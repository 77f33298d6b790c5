"""Matching of log lines, with one engine (RE2) wherever lines are stored.

RE2's time is linear in the text for every pattern; patterns that are too expensive per character are rejected (bound of decision 0072).
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from services.registry.logs.core.line_columns import LEVELS, STREAMS, Block, text_buffer
from services.registry.logs.core.ngram_filter import asked_hashes, required_text
from shared.errors import Rejected

MOST_CHARACTERS = 500
MOST_REPEATS = 100
_REPEATS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
NOWHERE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class LineQuery:
    """Filter on lines; None: no restriction.

    Attributes:
        text: Text that the line contains, character by character.
        pattern: A regular expression (RE2) that matches anywhere in the line.
        level: Minimum level; lines without a level do not match.
        since_ms, until_ms: When the worker read the line; the end is exclusive.
    """

    text: str | None = None
    pattern: str | None = None
    run: int | None = None
    rank: int | None = None
    stream: str | None = None
    level: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def levels(self) -> tuple[str, ...] | None:
        """The levels that match; None if all lines do."""
        return LEVELS[LEVELS.index(self.level) :] if self.level else None


class Matcher:
    """Finds matching lines in columns. Raises Rejected for a pattern that is invalid or too expensive."""

    def __init__(self, wanted: LineQuery) -> None:
        self.wanted = wanted
        if wanted.pattern:
            check_pattern(wanted.pattern)
        self._columns = _conditions(wanted)
        required = wanted.text or required_text(wanted.pattern or "")
        self.hashes = asked_hashes(required)

    @property
    def is_choosy(self) -> bool:
        """Whether the filter restricts anything."""
        return bool(self.wanted.text or self.wanted.pattern or self._columns)

    def matching_indices(self, texts: pa.StringArray, whole: Callable[[], Block]) -> np.ndarray:
        """Return the indices of matching lines, in order. `whole` is called only if other columns are needed."""
        found: np.ndarray | None = None
        if self.wanted.text:
            found = lines_with(texts, self.wanted.text)
            if not found.any():
                return NOWHERE
        if self.wanted.pattern:
            here = _matches(texts, self.wanted.pattern)
            found = here if found is None else found & here
        if self._columns and (found is None or found.any()):
            block = whole()
            for condition in self._columns:
                here = condition(block)
                found = here if found is None else found & here
        return np.arange(len(texts)) if found is None else np.flatnonzero(found)


def check_pattern(pattern: str) -> None:
    """Raise Rejected for a pattern that is invalid or too expensive per character."""
    repeats = math.prod(_most(counts) for counts in _REPEATS.findall(pattern))
    if len(pattern) > MOST_CHARACTERS or repeats > MOST_REPEATS:
        raise Rejected(
            "pattern_too_large",
            f"the pattern is too expensive: it may have at most {MOST_CHARACTERS} characters, and the product of its counts"
            f" such as {{20}} may be at most {MOST_REPEATS}",
            place="pattern",
            hint="use * or + instead of a large count",
        )
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise Rejected(
            "pattern_invalid",
            f"the pattern is not valid: {reason}",
            place="pattern",
            hint="use RE2 syntax, which has no back references and no lookaround",
        ) from error


def lines_with(texts: pa.StringArray, wanted: str) -> np.ndarray:
    """Return which lines contain a text. The whole text is searched first, which takes a third of the time: most parts do not contain it."""
    if wanted.encode() not in text_buffer(texts).to_pybytes():
        return np.zeros(len(texts), np.bool_)
    return _matches(texts, re.escape(wanted))


def _matches(texts: pa.StringArray, pattern: str) -> np.ndarray:
    found: np.ndarray = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    return found


def _conditions(wanted: LineQuery) -> list[Callable[[Block], np.ndarray]]:
    conditions: list[Callable[[Block], np.ndarray]] = []
    if (run := wanted.run) is not None:
        conditions.append(lambda block: block.numbers("run") == run)
    if (rank := wanted.rank) is not None:
        conditions.append(lambda block: block.numbers("rank") == rank)
    if (stream := wanted.stream) is not None:
        conditions.append(lambda block: block.numbers("stream") == STREAMS.index(stream))
    if (level := wanted.level) is not None:
        conditions.append(lambda block: block.numbers("level") >= LEVELS.index(level))
    if (since := wanted.since_ms) is not None:
        conditions.append(lambda block: block.numbers("time_ms") >= since)
    if (until := wanted.until_ms) is not None:
        conditions.append(lambda block: block.numbers("time_ms") < until)
    return conditions


def _most(counts: tuple[str, str]) -> int:
    """Return the maximum of a count: `{3}`, `{3,}`, `{3,9}`."""
    return max(1, *(int(count[:9]) for count in counts if count))
