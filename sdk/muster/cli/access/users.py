"""`muster user show` and `muster user password`."""

import typer

from muster.cli.access.render import kind_of, scope_of, state_of
from muster.cli.base.command_classes import verb
from muster.cli.base.options import UserName
from muster.cli.base.output import emit, facts, note
from muster.cli.command_table import NOUNS

users = NOUNS["user"].app


@verb(users, "show")
def show_user(user: UserName) -> None:
    """Show a user and the roles granted to the user directly."""
    from muster.client import connect

    with connect() as client:
        found = client.users.get(user)
        bindings = client.roles.bindings(user=found.name).all()
    known: list[tuple[str, object]] = [
        ("name", found.name),
        ("kind", kind_of(found)),
        ("display name", found.display_name or None),
        ("state", state_of(found)),
        ("groups", ", ".join(found.groups) or None),
    ]
    known += [("role", f"{one.role} on {scope_of(one.workspace, one.project)}") for one in bindings]
    emit(found, lambda: facts(known))


@verb(users, "password")
def password(user: UserName) -> None:
    """Set a user's password, read from a prompt; the user's sessions are revoked."""
    from muster.client import connect

    with connect() as client:
        client.users.set_password(user, typer.prompt("password", hide_input=True, confirmation_prompt=True))
    note("password of {} set; the user can change it with `muster session password`", user)
