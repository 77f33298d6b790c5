"""`muster login`, `muster logout`, `muster whoami` and `muster session`."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.access.render import scope_of
from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, facts, note
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import CreatedSession, SignInLink

SESSION_PREFIX = "mss_"
sessions = NOUNS["session"].app


def login(
    url: Annotated[str, typer.Argument(help="Where the platform is, e.g. http://muster.example:8080.")],
    token: Annotated[
        str | None, typer.Option(help="A token; asked for when nothing else says who you are.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option("--with", help="Sign in with this provider, in your browser.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Sign in with your name and password.")] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", help="The tenant that your name belongs to.")
    ] = "default",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where the browser comes back to; 0: a free one.")
    ] = 0,
    opens: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
) -> None:
    """Sign in to a platform, and keep its address and your session for the next commands."""
    from muster.client import Address, connect
    from muster.client.settings import preferred_to, save

    if sum(one is not None for one in (token, provider, user)) > 1:
        raise Rejected("invalid_request", "--token, --with and --user exclude each other")
    secret = token
    if provider is not None or user is not None:
        secret = _sign_in(url, provider, user, tenant, port, opens=opens).secret
    if secret is None:
        secret = str(typer.prompt("token", hide_input=True))
    with connect(Address(url.rstrip("/"), secret, "the command line")) as client:
        me = client.me()
    file = save(url, secret)
    said = "signed in to {} as [bold]{}[/] of {}; kept in {}"
    emit(me, lambda: note(said, url, me.name, me.tenant_name, file))
    if other := preferred_to(file):
        note("commands from here do not go by that, but by {}", other)


def logout() -> None:
    """End your session, and forget the platform's address."""
    from muster.client import connect
    from muster.client.settings import forget

    with connect() as client:
        address = client.address
        if address.token.startswith(SESSION_PREFIX):
            try:
                client.sessions.revoke()
            except Rejected as error:
                if error.code not in ("unauthenticated", "not_found"):
                    raise
    if forget(address):
        note("signed out of {}", address.url)
    else:
        note("what {} says was found in {}, and is still there", address.url, address.source)


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
        *(("role", f"{one.role} on {scope_of(one.workspace, one.project)}") for one in me.roles),
        ("token ends", me.expires_at),
    ]
    emit(me, lambda: facts(known))


@verb(sessions, "revoke")
def revoke_session(
    session: Annotated[
        str | None, typer.Argument(metavar="ID", help="`muster session list` shows it.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="All those of this user.")] = None,
) -> None:
    """End one of your sessions, or all those of a user; everywhere within seconds."""
    from muster.client import connect

    if (session is None) == (user is None):
        raise Rejected("invalid_request", "name a session or --user", hint="`muster session list` shows them")
    with connect() as client:
        if user is not None:
            ended = client.sessions.revoke_all(user)
            note("{} of {}'s sessions were ended", ended, user)
            return
        found = client.sessions.revoke(session or "")
    emit(found, lambda: note("session {} is ended", found.id))


@verb(sessions, "link")
def create_link() -> None:
    """Print a link that signs a browser in once, within 15 minutes, to do what your token may."""
    from muster.client import connect

    with connect() as client:
        made = client.sessions.create_link()
        address = f"{client.address.url}{made.path}"
    emit(made, lambda: _show_link(address, made))


@verb(sessions, "password")
def change_password() -> None:
    """Change your own password; your other sessions end."""
    from muster.client import connect

    current = str(typer.prompt("password of before", hide_input=True))
    fresh = str(typer.prompt("new password", hide_input=True, confirmation_prompt=True))
    with connect() as client:
        client.sessions.change_password(current, fresh)
    note("your password is changed; your other sessions are ended")


def _show_link(address: str, made: "SignInLink") -> None:
    note("this link signs in once, until {}:", f"{made.expires_at.astimezone():%H:%M %Z}")
    print(address)


def _sign_in(
    url: str, provider: str | None, user: str | None, tenant: str, port: int, *, opens: bool
) -> "CreatedSession":
    from muster.cli.access.browser import sign_in_with
    from muster.client import Address, connect

    with connect(Address(url.rstrip("/"), "", "the command line")) as client:
        if provider is not None:
            return sign_in_with(client, provider, port, opens=opens)
        password = str(typer.prompt("password", hide_input=True))
        return client.sessions.sign_in(str(user), password, tenant=tenant)
