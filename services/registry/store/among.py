"""Rows by any number of ids: a list would be one parameter for each, of which a statement has 32,767 at most."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Uuid, any_, literal
from sqlalchemy.dialects.postgresql import ARRAY


def among(column: Column[Any], ids: Iterable[UUID]) -> ColumnElement[bool]:
    """The column is one of these ids, which go as one array."""
    return column == any_(literal(list(ids), ARRAY(Uuid)))
