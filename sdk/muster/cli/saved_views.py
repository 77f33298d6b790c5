"""`muster view`: saved dashboard pages."""

from typing import Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import ViewName
from muster.cli.base.output import emit, note, table, when
from muster.cli.command_table import NOUNS

app = NOUNS["view"].app


@verb(app, "list")
def list_views() -> None:
    """List your views with their addresses."""
    from muster.client import connect

    with connect() as client:
        found = client.views.list()
        site = client.address.url
    rows = ((one.name, when(one.saved_at), f"{site}{one.address}") for one in found)
    emit(
        found,
        lambda: table(
            ("name", "saved", "address"),
            rows,
            "no views: save one in the dashboard or with `muster view save`",
        ),
    )


@verb(app, "save")
def save(
    name: ViewName,
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS", help="Dashboard path and query, such as '/experiments?filter=owner = ada'."
        ),
    ],
) -> None:
    """Save a dashboard page as a named view."""
    from urllib.parse import quote

    from muster.client import connect

    with connect() as client:
        found = client.views.save(name, quote(address, safe="/?&=%:,()"))
    emit(found, lambda: note("view {} saved: {}", found.name, found.address))
