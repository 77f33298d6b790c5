"""Encode arguments of a call as query parameters or as a JSON body."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import overload

from pydantic import JsonValue

from muster.client.http.transport import Query, Reference

Given = JsonValue | date | Iterable[str] | Mapping[str, JsonValue] | Mapping[str, int] | Mapping[str, str]
"""`datetime` is a subclass of `date`."""


def query_params(**fields: str | float | date | Iterable[str] | None) -> Query:
    """Return query parameters, without None, and without an empty filter or sort order.

    Other empty strings are sent, so that the gateway refuses them; omitting them would list everything.
    """
    return {
        name: _queried(value)
        for name, value in fields.items()
        if value is not None and (value != "" or name not in ("filter", "sort"))
    }


def json_body(**fields: Given) -> dict[str, JsonValue]:
    """Return a JSON body, without None."""
    return {name: _embodied(value) for name, value in fields.items() if value is not None}


@overload
def text(reference: Reference) -> str: ...
@overload
def text(reference: Reference | None) -> str | None: ...
def text(reference: Reference | None) -> str | None:
    """Return a reference as a string; None stays None."""
    return None if reference is None else str(reference)


def texts(references: Iterable[Reference]) -> list[str]:
    """Return references as strings."""
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
