"""`muster view`: places of the dashboard that one has named."""

from typing import Annotated

import typer

from muster.cli.base.frame import noun, verb
from muster.cli.base.output import emit, note, table, when

app = noun("Keep places of the dashboard under names of your own.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Yours alone: others may have one of that name.")]


@verb(app, "list")
def list_views() -> None:
    """List your views, and where they lead."""
    from muster.client import connect

    with connect() as client:
        found = client.views.list()
        site = client.address.url
    rows = ((one.name, when(one.saved_at), f"{site}{one.address}") for one in found)
    emit(found, lambda: table(("name", "saved", "leads to"), rows, "no views: save one in the dashboard"))


@verb(app, "save")
def save(
    name: Name,
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="Path and query, such as '/experiments?filter=owner = ada'."),
    ],
) -> None:
    """Keep a place of the dashboard under a name."""
    from urllib.parse import quote

    from muster.client import connect

    with connect() as client:
        found = client.views.save(name, quote(address, safe="/?&=%:,()"))
    emit(found, lambda: note("view {} leads to {}", found.name, found.address))


@verb(app, "delete")
def delete(name: Name) -> None:
    """Forget a view."""
    from muster.client import connect

    with connect() as client:
        client.views.delete(name)
    note("view {} is gone", name)
