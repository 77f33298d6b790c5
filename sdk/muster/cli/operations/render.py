"""How an operation looks that takes longer than its request waited."""

from typing import TYPE_CHECKING

from muster.cli.base.output import when

if TYPE_CHECKING:
    from muster.client.models import LongOperation


def operation_facts(found: "LongOperation") -> list[tuple[str, object]]:
    """Return how far it is, and why it was refused."""
    return [
        ("operation", found.operation),
        ("state", found.state),
        ("since", when(found.created_at)),
        ("waiting", found.waiting),
        ("refused", found.message),
        *([("what helps", found.hint)] if found.message is not None else []),
    ]
