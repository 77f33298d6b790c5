"""`muster login` and `muster whoami`."""

from typing import Annotated

import typer

from muster.cli.output import emit, facts, note
from muster.cli.user import place_of


def login(
    url: Annotated[str, typer.Argument(help="Where the platform is, e.g. http://muster.example:8080.")],
    token: Annotated[
        str, typer.Option(prompt="token", hide_input=True, help="Your token; asked for when not given.")
    ],
) -> None:
    """Keep a platform's address and your token for the next commands."""
    from muster.client import Address, connect
    from muster.client.settings import save

    with connect(Address(url.rstrip("/"), token, "the command line")) as client:
        me = client.me()
    file = save(url, token)
    said = "signed in to {} as [bold]{}[/] of {}; kept in {}"
    emit(me, lambda: note(said, url, me.name, me.tenant_name, file))


def whoami() -> None:
    """Show which platform is spoken to, and as whom."""
    from muster.client import connect

    with connect() as client:
        me = client.me()
        address = client.address
    known: list[tuple[str, object]] = [
        ("platform", address.url),
        ("found in", address.source),
        ("name", me.name),
        ("tenant", me.tenant_name),
        *(("role", f"{one.role} on {place_of(one.workspace, one.project)}") for one in me.roles),
        ("token ends", me.expires_at),
    ]
    emit(me, lambda: facts(known))
