"""`muster user`: who there is, and tokens with which users act."""

from typing import Annotated

import typer

from muster.cli.access.render import kind_of, place_of, state_of
from muster.cli.base.frame import verb
from muster.cli.base.options import UserName
from muster.cli.base.output import emit, facts, note
from muster.cli.table import NOUNS

users = NOUNS["user"].app

Days = Annotated[int, typer.Option("--days", min=1, max=366, help="So long the token counts.")]


@verb(users, "create")
def create_user(
    name: UserName,
    service: Annotated[bool, typer.Option("--service", help="A program, and no person.")] = False,
    display_name: Annotated[str, typer.Option("--display-name", help="What people call it.")] = "",
) -> None:
    """Add a user, which may do nothing until it is given a role."""
    from muster.client import connect
    from muster.client.models import UserKind

    kind = UserKind.SERVICE_ACCOUNT if service else UserKind.PERSON
    with connect() as client:
        found = client.users.create(name, kind=kind, display_name=display_name)
    emit(found, lambda: note("user {} is there; `muster role grant` gives it something to do", found.name))


@verb(users, "show")
def show_user(user: UserName) -> None:
    """Show a user with the roles that it was given itself."""
    from muster.client import connect

    with connect() as client:
        found = client.users.get(user)
        bindings = client.roles.bindings(user=found.name).all()
    known: list[tuple[str, object]] = [
        ("name", found.name),
        ("kind", kind_of(found)),
        ("called", found.display_name or None),
        ("state", state_of(found)),
        ("groups", ", ".join(found.groups) or None),
    ]
    known += [("role", f"{one.role} on {place_of(one.workspace, one.project)}") for one in bindings]
    emit(found, lambda: facts(known))


@verb(users, "disable")
def disable(user: UserName) -> None:
    """End all that a user may do, by whatever token."""
    _set_disabled(user, disabled=True)


@verb(users, "enable")
def enable(user: UserName) -> None:
    """Let a disabled user's tokens count again."""
    _set_disabled(user, disabled=False)


@verb(users, "token")
def token(
    user: UserName,
    name: Annotated[str, typer.Option("--name", help="What the token is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="Only this permission of the user's. Repeatable; by default all."),
    ] = None,
    days: Days = 30,
) -> None:
    """Make a token for a user and print its secret, this one time."""
    from muster.client import connect

    with connect() as client:
        found = client.users.create_token(user, name, scope=scope or (), ttl_s=days * 86_400)
    emit(found, lambda: print(found.secret))


@verb(users, "password")
def password(user: UserName) -> None:
    """Give a person a password, which is asked for; that person's sessions end."""
    from muster.client import connect

    with connect() as client:
        client.users.set_password(user, typer.prompt("password", hide_input=True, confirmation_prompt=True))
    note("{} has a new password, to be changed with `muster session password`", user)


def _set_disabled(user: str, *, disabled: bool) -> None:
    from muster.client import connect

    with connect() as client:
        found = client.users.edit(user, disabled=disabled)
    emit(found, lambda: note("{} is {}", found.name, state_of(found)))
