"""Regular expressions for log lines, matched in time linear in the length of the line."""

import math
import re
from dataclasses import dataclass, field

from pydantic_core import PydanticCustomError, SchemaError, SchemaValidator, core_schema

from muster.config.base_section import refusal

MAX_PATTERN = 500
MAX_REPEATS = 100
LOOKED_AT = 4096
"""Characters of a line that are searched."""
_REPEATS = re.compile(r"\{(\d+)(?:,(\d*))?\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression in RE2 syntax; `\\d`, `\\w` and `\\s` match Unicode."""

    text: str
    _matcher: SchemaValidator = field(repr=False, compare=False)

    def is_in(self, line: str) -> bool:
        """Whether the pattern matches within the first 4096 characters of the line."""
        return self._matcher.isinstance_python(line[:LOOKED_AT])


def read_pattern(text: str) -> Pattern:
    """Parse a pattern. Raises a refusal if it is invalid or could be too expensive on one line."""
    # Cost is line length times pattern length, where a repeated part counts once per repetition.
    if len(text) > MAX_PATTERN or math.prod(map(_most, _REPEATS.findall(text))) > MAX_REPEATS:
        raise refusal(
            f"the pattern is too expensive: it may have at most {MAX_PATTERN} characters, and the product of counts such as {{20}}"
            f" may be at most {MAX_REPEATS}",
            hint="use * or + instead of a large count",
        )
    try:
        return Pattern(text, SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex")))
    except SchemaError as error:
        raise _not_understood(str(error)) from None


def _most(counts: tuple[str, str]) -> int:
    """The maximum of a count: `{3}`, `{3,}`, `{3,9}`."""
    return max(1, *(int(count[:9]) for count in counts if count))


def _not_understood(details: str) -> PydanticCustomError:
    found = re.search(r"error: (.*)", details)
    reason = found[1] if found else details.rsplit("SchemaError: ", 1)[-1]
    return refusal(f"the pattern is invalid: {reason}", hint="patterns use RE2 syntax")
