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
    url: Annotated[str, typer.Argument(help="Address of the platform, e.g. http://muster.example:8080.")],
    token: Annotated[
        str | None, typer.Option(help="Sign in with a token; prompted for if --with and --user are missing.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option("--with", help="Sign in with this provider in your browser.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Sign in with your name and password.")] = None,
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant of the user, with --user.")] = "default",
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Local port for the redirect of the browser; 0 for any free port.",
        ),
    ] = 0,
    opens: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or only print the address.")
    ] = True,
) -> None:
    """Sign in to a platform; save its address and your session for later commands."""
    from muster.client import Address, connect
    from muster.client.settings import preferred_to, save

    if sum(one is not None for one in (token, provider, user)) > 1:
        raise Rejected("invalid_request", "--token, --with and --user cannot be combined")
    secret = token
    if provider is not None or user is not None:
        secret = _sign_in(url, provider, user, tenant, port, opens=opens).secret
    if secret is None:
        secret = str(typer.prompt("token", hide_input=True))
    with connect(Address(url.rstrip("/"), secret, "the command line")) as client:
        me = client.me()
    file = save(url, secret)
    message = "signed in to {} as [bold]{}[/] of {}; saved in {}"
    emit(me, lambda: note(message, url, me.name, me.tenant_name, file))
    if other := preferred_to(file):
        note("commands started here ignore the saved sign-in and use {}", other)


def logout() -> None:
    """Sign out: end your session and forget the platform's address."""
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
        note("the sign-in to {} comes from {}; remove it there", address.url, address.source)


def whoami() -> None:
    """Show the platform, your user, tenant and roles."""
    from muster.client import connect

    with connect() as client:
        me = client.me()
        address = client.address
    known: list[tuple[str, object]] = [
        ("platform", address.url),
        ("source", address.source),
        ("name", me.name),
        ("tenant", me.tenant_name),
        *(("role", f"{one.role} on {scope_of(one.workspace, one.project)}") for one in me.roles),
        ("token expires", me.expires_at),
    ]
    emit(me, lambda: facts(known))


@verb(sessions, "revoke")
def revoke_session(
    session: Annotated[
        str | None, typer.Argument(metavar="ID", help="Id of the session, from `muster session list`.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Revoke all sessions of this user.")] = None,
) -> None:
    """Revoke one of your sessions, or all sessions of a user; takes effect within seconds."""
    from muster.client import connect

    if (session is None) == (user is None):
        raise Rejected(
            "invalid_request", "give either a session id or --user", hint="`muster session list` shows them"
        )
    with connect() as client:
        if user is not None:
            ended = client.sessions.revoke_all(user)
            note("revoked {} sessions of {}", ended, user)
            return
        found = client.sessions.revoke(session or "")
    emit(found, lambda: note("session {} revoked", found.id))


@verb(sessions, "link")
def create_link() -> None:
    """Print a link that signs a browser in once, valid for 15 minutes, with the rights of your token."""
    from muster.client import connect

    with connect() as client:
        made = client.sessions.create_link()
        address = f"{client.address.url}{made.path}"
    emit(made, lambda: _show_link(address, made))


@verb(sessions, "password")
def change_password() -> None:
    """Change your own password; your other sessions are revoked."""
    from muster.client import connect

    current = str(typer.prompt("current password", hide_input=True))
    fresh = str(typer.prompt("new password", hide_input=True, confirmation_prompt=True))
    with connect() as client:
        client.sessions.change_password(current, fresh)
    note("password changed; your other sessions are revoked")


def _show_link(address: str, made: "SignInLink") -> None:
    note("this link works once, until {}:", f"{made.expires_at.astimezone():%H:%M %Z}")
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
