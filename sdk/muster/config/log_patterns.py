"""Patterns that are looked for in what a trial prints: they need time in proportion to the line, whatever is written in it."""

import math
import re
from dataclasses import dataclass, field

from pydantic_core import PydanticCustomError, SchemaError, SchemaValidator, core_schema

from muster.config.section import refusal

MAX_PATTERN = 500
MAX_REPEATS = 100
LOOKED_AT = 4096
"""Of a line, so many characters are looked at."""
_REPEATS = re.compile(r"\{(\d+)(?:,(\d*))?\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression in the syntax of RE2, but that `\\d`, `\\w` and `\\s` know all of Unicode."""

    text: str
    _matcher: SchemaValidator = field(repr=False, compare=False)

    def is_in(self, line: str) -> bool:
        """Whether the line's first 4096 characters hold it somewhere."""
        return self._matcher.isinstance_python(line[:LOOKED_AT])


def read_pattern(text: str) -> Pattern:
    """Return the pattern that `text` writes. Raises a refusal where it is none, or where one line could cost too much."""
    # Time is the line's length times the pattern's, in which a part that repeats counts so many times.
    if len(text) > MAX_PATTERN or math.prod(map(_most, _REPEATS.findall(text))) > MAX_REPEATS:
        raise refusal(
            f"the pattern could cost too much: it may have {MAX_PATTERN} characters, and counts such as {{20}} that multiply to"
            f" {MAX_REPEATS}",
            hint="use * or + instead of a large count",
        )
    try:
        return Pattern(text, SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex")))
    except SchemaError as error:
        raise _not_understood(str(error)) from None


def _most(counts: tuple[str, str]) -> int:
    """How often a count repeats at most: `{3}`, `{3,}`, `{3,9}`."""
    return max(1, *(int(count[:9]) for count in counts if count))


def _not_understood(told: str) -> PydanticCustomError:
    found = re.search(r"error: (.*)", told)
    reason = found[1] if found else told.rsplit("SchemaError: ", 1)[-1]
    return refusal(f"the pattern is not understood: {reason}", hint="patterns are written as for RE2")
