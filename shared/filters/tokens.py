"""Tokenizer of filters."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from muster.errors import Rejected

MOST_CHARACTERS = 4_000
Sort = Literal["word", "text", "number", "operator", "mark", "end"]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![A-Za-z0-9_]))
    | (?P<word>[A-Za-z_][A-Za-z0-9_/-]*)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<operator><=|>=|!=|==|=|<|>)
    | (?P<mark>[().,-])
    )""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `text`: its text without quotes; `at`: position of its first character, from 1."""

    sort: Sort
    text: str
    at: int

    def is_word(self, *words: str) -> bool:
        """Return whether the token is one of these keywords, in any case."""
        return self.sort == "word" and self.text.lower() in words


def split(text: str, place: str) -> list[Token]:
    """Return the tokens of an expression, `end` last.

    Raises:
        Rejected: A character starts no token, or the text is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise Rejected("bad_filter", f"an expression may have at most {MOST_CHARACTERS} characters", place)
    return [*_tokens(text, place), Token("end", "", len(text) + 1)]


def fault(message: str, token: Token, place: str, hint: str | None = None) -> Rejected:
    """Return the error for an expression at one of its tokens."""
    where = "at its end" if token.sort == "end" else f"at character {token.at}"
    return Rejected("bad_filter", f"{where}: {message}", place, hint)


def _tokens(text: str, place: str) -> Iterator[Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            problem = (
                "the closing quote is missing" if text[at] in "\"'" else f"{text[at]!r} is not expected here"
            )
            raise Rejected("bad_filter", f"at character {at + 1}: {problem}", place)
        value, sort = found[found.lastgroup], found.lastgroup
        if sort == "text":
            yield Token("text", _ESCAPED.sub(r"\1", value[1:-1]), found.start(sort) + 1)
        else:
            yield Token(sort, value, found.start(sort) + 1)  # type: ignore[arg-type]
        at = found.end()
