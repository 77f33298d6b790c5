"""What a call is given, as it is sent: in a URL's query, or in a JSON body."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import overload

from pydantic import JsonValue

from muster.client.http.transport import Query, Reference

Given = JsonValue | date | Iterable[str] | Mapping[str, JsonValue] | Mapping[str, int] | Mapping[str, str]
"""datetime is a date."""


def query_of(**fields: str | float | date | Iterable[str] | None) -> Query:
    """Return the query of a URL; what is None or an empty text is left out."""
    return {name: _queried(value) for name, value in fields.items() if value is not None and value != ""}


def body_of(**fields: Given) -> dict[str, JsonValue]:
    """Return the body of a request; what is None is left out."""
    return {name: _embodied(value) for name, value in fields.items() if value is not None}


@overload
def text(reference: Reference) -> str: ...
@overload
def text(reference: Reference | None) -> str | None: ...
def text(reference: Reference | None) -> str | None:
    """Return what names something as text, and None as it is."""
    return None if reference is None else str(reference)


def texts(references: Iterable[Reference]) -> list[str]:
    """Return what names some things as texts."""
    return [str(reference) for reference in references]


def _queried(value: str | float | date | Iterable[str]) -> str | int | bool | list[str]:
    if isinstance(value, str | int):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, float) else list(value)


def _embodied(value: Given) -> JsonValue:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return dict(value) if isinstance(value, Mapping) else list(value)
