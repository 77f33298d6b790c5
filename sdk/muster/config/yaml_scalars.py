"""Meaning and limits of scalars: YAML 1.2's core schema (`1e-3` is a number, `yes` a string)."""

import math
import re

from pydantic import JsonValue

from muster.errors import Rejected

MAX_INTEGER = 2**63 - 1

_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,400}")
_PREFIXED = re.compile(r"0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def resolve_scalar(text: str, is_quoted: bool, where: str) -> JsonValue:
    """Return the value of `text`; quoted text is a string. Raises `Rejected` for `.inf` and `.nan`."""
    if is_quoted:
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        raise Rejected("invalid_number", "numbers must be finite", where)
    return text


def check_scalar(value: JsonValue, place: str) -> None:
    """Refuse values that cannot be stored: non-finite numbers, integers beyond 64 bits, NUL, lone surrogates."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Rejected("invalid_number", "numbers must be finite", place)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise Rejected("invalid_number", "whole numbers must fit into 64 bits", place)
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        raise Rejected(
            "invalid_text",
            "text may hold neither NUL characters nor lone surrogates",
            place,
        )
