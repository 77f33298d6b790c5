"""`muster experiment search`: whether a program drives a custom search."""

from typing import TYPE_CHECKING

from muster.cli.base.options import Number
from muster.cli.base.output import emit, facts

if TYPE_CHECKING:
    from muster.client.models import DrivenSearch


def show_driver(experiment: Number) -> None:
    """Show which program drives a custom search, when it was last heard, and what it has not answered."""
    from muster.client import connect

    with connect() as client:
        found = client.drive(experiment).look()
    emit(found, lambda: facts(_facts(found)))


def _facts(found: "DrivenSearch") -> list[tuple[str, object]]:
    nobody = "a program without a name" if found.seen_at else "nobody yet"
    return [
        ("experiment", found.experiment_number),
        ("driven by", found.driver or nobody),
        ("last heard", found.seen_at),
        ("answered up to", found.acknowledged),
        ("waiting for it", f"{found.waiting} event{'' if found.waiting == 1 else 's'}"),
        ("waiting since", found.waiting_since),
    ]
