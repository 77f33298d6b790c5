"""Parses ids and numbers in paths."""

import re
from typing import Any
from uuid import UUID

NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
Row = Any
"""An SQLAlchemy row, whose columns are attributes."""


def parse_uuid(text: str) -> UUID | None:
    """Parse a UUID in canonical form; None for other text."""
    return UUID(text) if _UUID.fullmatch(text.lower()) else None
