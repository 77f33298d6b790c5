"""Formatting of long-running operations."""

from typing import TYPE_CHECKING

from muster.cli.base.output import when

if TYPE_CHECKING:
    from muster.client.models import LongOperation


def operation_facts(found: "LongOperation") -> list[tuple[str, object]]:
    """Return the state of an operation, and its error."""
    return [
        ("operation", found.operation),
        ("state", found.state),
        ("created", when(found.created_at)),
        ("waiting", found.waiting),
        ("error", found.message),
        *([("hint", found.hint)] if found.message is not None else []),
    ]
