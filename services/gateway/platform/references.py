"""Ids and numbers as paths name them."""

import re
from typing import Any
from uuid import UUID

NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
Row = Any
"""A row of SQLAlchemy, whose columns are attributes."""


def parse_uuid(text: str) -> UUID | None:
    """The id that `text` is in its usual form, else None."""
    return UUID(text) if _UUID.fullmatch(text.lower()) else None
