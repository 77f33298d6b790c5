"""What is looked for in logs, and where it is: one engine (RE2), so that a pattern means the same wherever lines are kept.

RE2 needs time in proportion to the text whatever the pattern; that a line could cost too much times that is refused (decision 0072's bound).
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from services.registry.logs.core.lines import LEVELS, STREAMS, Block, text_buffer
from services.registry.logs.core.ngram_filter import asked_hashes, required_text
from shared.errors import Rejected

MOST_CHARACTERS = 500
MOST_REPEATS = 100
_REPEATS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
NOWHERE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class LineQuery:
    """Which lines; what is None does not matter.

    Attributes:
        text: what the line holds, letter by letter.
        pattern: a regular expression (RE2) that is found somewhere in the line.
        level: the least level; a line that names none has none.
        since_ms, until_ms: when it was read by its worker; the end is not included.
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
        """The levels that count; None where all lines do."""
        return LEVELS[LEVELS.index(self.level) :] if self.level else None


class Matcher:
    """Finds wanted lines in columns. Raises Rejected for a pattern that is none, or one that could cost too much."""

    def __init__(self, wanted: LineQuery) -> None:
        self.wanted = wanted
        if wanted.pattern:
            check_pattern(wanted.pattern)
        self._columns = _conditions(wanted)
        required = wanted.text or required_text(wanted.pattern or "")
        self.hashes = asked_hashes(required)

    @property
    def is_choosy(self) -> bool:
        """Whether there is anything that a line may lack."""
        return bool(self.wanted.text or self.wanted.pattern or self._columns)

    def places(self, texts: pa.StringArray, whole: Callable[[], Block]) -> np.ndarray:
        """Where among these lines the wanted ones are, in order. `whole` is asked for only where it matters."""
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
    """Raise Rejected for what is no pattern, or costs too much for each letter."""
    repeats = math.prod(_most(counts) for counts in _REPEATS.findall(pattern))
    if len(pattern) > MOST_CHARACTERS or repeats > MOST_REPEATS:
        raise Rejected(
            "pattern_too_large",
            f"the pattern could cost too much: it may have {MOST_CHARACTERS} characters, and counts such as {{20}} that"
            f" multiply to {MOST_REPEATS}",
            place="pattern",
            hint="use * or + instead of a large count",
        )
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise Rejected(
            "pattern_invalid",
            f"the pattern is not understood: {reason}",
            place="pattern",
            hint="patterns are written as for RE2: without back references and looking around",
        ) from error


def lines_with(texts: pa.StringArray, wanted: str) -> np.ndarray:
    """Which lines hold a text. It is looked for in the letters of all first, which takes a third of the time: most parts lack it."""
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
    """How often a count repeats at most: `{3}`, `{3,}`, `{3,9}`."""
    return max(1, *(int(count[:9]) for count in counts if count))
