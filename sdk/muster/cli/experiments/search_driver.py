"""`muster experiment search`: the driver of a custom search."""

from typing import TYPE_CHECKING

from muster.cli.base.options import Number
from muster.cli.base.output import emit, facts

if TYPE_CHECKING:
    from muster.client.models import DrivenSearch


def show_driver(experiment: Number) -> None:
    """Show which program drives a custom search, when it last called, and how many events it has not answered."""
    from muster.client import connect

    with connect() as client:
        found = client.drive(experiment).look()
    emit(found, lambda: facts(_facts(found)))


def _facts(found: "DrivenSearch") -> list[tuple[str, object]]:
    nobody = "unnamed program" if found.seen_at else "none yet"
    return [
        ("experiment", found.experiment_number),
        ("driven by", found.driver or nobody),
        ("last call", found.seen_at),
        ("answered up to", found.acknowledged),
        ("unanswered", f"{found.waiting} event{'' if found.waiting == 1 else 's'}"),
        ("unanswered since", found.waiting_since),
    ]
