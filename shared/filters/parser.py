"""Parser of filters and sorts. User input is parsed into a tree and never executed.

`metrics.validation.accuracy.max > 0.9 and (hparams.optimizer in (adam, sgd) or not state = completed)`
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isinf
from typing import Generic

from shared.errors import Rejected
from shared.filters.syntax_tree import (
    Absent,
    All,
    Any,
    C,
    Comparison,
    Contains,
    Filter,
    Kind,
    Not,
    Operator,
    Order,
    Value,
)
from shared.filters.tokens import Token, fault, split

MOST_CONDITIONS = 50
DEEPEST = 20
MOST_ORDERS = 4
KEYWORDS = ("and", "or", "not", "in", "is", "contains", "absent")
_OPERATORS: dict[str, Operator] = {
    "==": "=",
    "=": "=",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_WITH_TEXT = (Kind.TEXT, Kind.TEXTS, Kind.ANY)


@dataclass(frozen=True, slots=True)
class Names(Generic[C]):
    """Names that one list understands."""

    read: Callable[[Sequence[str], str], C]
    """Maps the parts of a dotted name to a column; the other argument is the input named in errors. Raises Rejected for an unknown name."""
    example: str
    """Valid names, for error messages."""


def read_filter(text: str, names: Names[C], place: str = "filter") -> Filter[C] | None:
    """Parse a filter; None for an empty one, which matches everything.

    Raises:
        Rejected: The filter is not valid; the message says at which character, and why.
    """
    return _Parser(text, names, place).whole() if text.strip() else None


def read_orders(text: str, names: Names[C], place: str = "sort") -> tuple[Order[C], ...]:
    """Parse the columns of a sort, separated by commas; `-` before a column means descending."""
    return _Parser(text, names, place).orders() if text.strip() else ()


def read_name(text: str, names: Names[C], place: str = "column") -> C:
    """Parse the name of a column."""
    return _Parser(text, names, place).only_column()


class _Parser(Generic[C]):
    """Recursive-descent parser of one expression."""

    def __init__(self, text: str, names: Names[C], place: str) -> None:
        self._tokens, self._names, self._place = split(text, place), names, place
        self._next = self._depth = self._conditions = 0

    def whole(self) -> Filter[C]:
        found = self._any()
        self._end("and, or, or the end")
        return found

    def orders(self) -> tuple[Order[C], ...]:
        found = [self._order()]
        while self._take_mark(","):
            found.append(self._order())
        self._end("a comma or the end")
        if len(found) > MOST_ORDERS:
            raise Rejected("bad_filter", f"a sort has at most {MOST_ORDERS} columns", self._place)
        return tuple(found)

    def only_column(self) -> C:
        found = self._column()
        self._end("the end of the name")
        return found

    def _order(self) -> Order[C]:
        is_descending = self._take_mark("-")
        return Order(self._column(), is_descending)

    def _any(self) -> Filter[C]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._fault(f"parentheses can be nested at most {DEEPEST} deep")
        found = [self._all()]
        while self._take_keyword("or"):
            found.append(self._all())
        self._depth -= 1
        return found[0] if len(found) == 1 else Any(tuple(found))

    def _all(self) -> Filter[C]:
        found = [self._one()]
        while self._take_keyword("and"):
            found.append(self._one())
        return found[0] if len(found) == 1 else All(tuple(found))

    def _one(self) -> Filter[C]:
        is_negated = False
        while self._take_keyword("not"):
            is_negated = not is_negated
        if self._take_mark("("):
            found = self._any()
            if not self._take_mark(")"):
                raise self._fault("a parenthesis is not closed: expected )")
        else:
            found = self._condition()
        return Not(found) if is_negated else found

    def _condition(self) -> Filter[C]:
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            raise self._fault(f"a filter has at most {MOST_CONDITIONS} conditions")
        column = self._column()
        if self._take_keyword("is"):
            is_present = self._take_keyword("not")
            if not self._take_keyword("absent"):
                raise self._fault("expected absent or not absent")
            return Not(Absent(column)) if is_present else Absent(column)
        if self._take_keyword("contains"):
            return Contains(column, self._text_in(column))
        is_negated = self._take_keyword("not")
        if self._take_keyword("in"):
            found = self._members(column)
            return Not(found) if is_negated else found
        if is_negated or self._token.sort != "operator":
            raise self._fault("expected = != < <= > >= in, contains or is absent")
        self._refuse_several(column)
        return Comparison(column, _OPERATORS[self._take().text], self._value(column))

    def _members(self, column: C) -> Filter[C]:
        self._refuse_several(column)
        if not self._take_mark("("):
            raise self._fault("expected ( and the values, separated by commas")
        found = [Comparison(column, "=", self._value(column))]
        while self._take_mark(","):
            found.append(Comparison(column, "=", self._value(column)))
        if not self._take_mark(")"):
            raise self._fault("expected a comma or )")
        return Any(tuple(found))

    def _refuse_several(self, column: C) -> None:
        if column.kind is Kind.TEXTS:
            raise self._fault("the field holds several values: expected contains or is absent")

    def _column(self) -> C:
        at = self._token
        parts = [self._part()]
        while self._take_mark("."):
            parts.append(self._part())
        try:
            return self._names.read(parts, self._place)
        except Rejected as error:
            raise Rejected(
                error.code, f"at character {at.at}: {error.message}", self._place, error.hint
            ) from None

    def _part(self) -> str:
        token = self._token
        if token.sort not in ("word", "text"):
            raise self._fault(f"expected a name, such as {self._names.example}")
        return self._take().text

    def _value(self, column: C) -> Value:
        token = self._take()
        match token.sort:
            case "number":
                value: Value = self._number(token)
            case "word" if token.text.lower() in ("true", "false"):
                value = token.text.lower() == "true"
            case "word" if token.text.lower() not in KEYWORDS:
                value = token.text
            case "text":
                value = token.text
            case _:
                raise fault("expected a number, a text, true or false", token, self._place)
        return self._fitting(column, value, token)

    def _fitting(self, column: C, value: Value, token: Token) -> Value:
        match column.kind:
            case Kind.TIME:
                return self._time(value, token)
            case Kind.NUMBER if not isinstance(value, float):
                raise fault(f"expected a number, not {token.text!r}", token, self._place)
            case Kind.TEXT if not isinstance(value, str):
                raise fault(f"expected a text, not {token.text}", token, self._place)
            case Kind.BOOLEAN if not isinstance(value, bool):
                raise fault(f"expected true or false, not {token.text!r}", token, self._place)
        return value

    def _number(self, token: Token) -> float:
        value = float(token.text)
        if isinf(value):
            raise fault(f"{token.text} is out of range for a 64-bit number", token, self._place)
        return value

    def _time(self, value: Value, token: Token) -> datetime:
        try:
            found = datetime.fromisoformat(str(value) if isinstance(value, str) else "")
        except ValueError:
            hint = 'write times as text, such as "2026-11-22" or "2026-11-22T14:00:00+01:00"'
            raise fault("expected a time", token, self._place, hint) from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def _text_in(self, column: C) -> str:
        token = self._take()
        if token.sort not in ("word", "text"):
            raise fault("expected a text", token, self._place)
        if column.kind not in _WITH_TEXT:
            raise fault("contains works only with text fields", token, self._place)
        return token.text

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._token
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _take_keyword(self, *keywords: str) -> bool:
        return self._token.is_keyword(*keywords) and bool(self._take())

    def _take_mark(self, mark: str) -> bool:
        return self._token.sort == "mark" and self._token.text == mark and bool(self._take())

    def _end(self, expected: str) -> None:
        if self._token.sort != "end":
            raise self._fault(f"expected {expected}")

    def _fault(self, message: str) -> Rejected:
        return fault(message, self._token, self._place)
