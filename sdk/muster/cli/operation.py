"""`muster operation`: what took longer than its request waited."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.frame import noun, verb
from muster.cli.base.options import Filter, Sort
from muster.cli.base.output import emit, facts, table, when

if TYPE_CHECKING:
    from muster.client.models import LongOperation

app = noun("Look at what takes longer than a request waits.")

Name = Annotated[
    str, typer.Argument(metavar="OPERATION", help="Its id, as `muster operation list` shows it.")
]


@verb(app, "list")
def list_operations(filter_: Filter = None, sort: Sort = None) -> None:
    """List your operations of the last day that took long, newest first."""
    from muster.client import connect

    with connect() as client:
        found = client.operations.list(filter=filter_ or "", sort=sort or "").all()
    columns = ("id", "operation", "state", "since", "why refused")
    rows = ((one.id, one.operation, one.state, when(one.created_at), one.message) for one in found)
    emit(found, lambda: table(columns, rows, "nothing took long"))


@verb(app, "show")
def show(operation: Name) -> None:
    """Show how far an operation is."""
    from muster.client import connect

    with connect() as client:
        found = client.operations.get(operation)
    emit(found, lambda: facts(_said(found)))


def _said(found: "LongOperation") -> list[tuple[str, object]]:
    said: list[tuple[str, object]] = [("operation", found.operation), ("state", found.state)]
    said.append(("since", when(found.created_at)))
    if found.waiting is not None:
        said.append(("waiting", found.waiting))
    if found.message is not None:
        said += [("refused", found.message), ("what helps", found.hint)]
    return said
