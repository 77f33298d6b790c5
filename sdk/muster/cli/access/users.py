"""`muster user` and `muster group`: who there is, and tokens with which users act."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.frame import noun, verb
from muster.cli.base.options import Filter, Sort
from muster.cli.base.output import emit, facts, note, table

if TYPE_CHECKING:
    from muster.client.models import User

users = noun("People and programs of your tenant, and their tokens.")
groups = noun("Users who are given roles together.")

User_ = Annotated[str, typer.Argument(metavar="USER", help="Its name.")]
Group_ = Annotated[str, typer.Argument(metavar="GROUP", help="Its name.")]
Days = Annotated[int, typer.Option("--days", min=1, max=366, help="So long the token counts.")]


@verb(users, "create")
def create_user(
    name: User_,
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


@verb(users, "list")
def list_users(
    group: Annotated[str | None, typer.Option("--group", help="Those of this group alone.")] = None,
    filter_: Filter = None,
    sort: Sort = None,
) -> None:
    """List the users of your tenant."""
    from muster.client import connect

    with connect() as client:
        found = client.users.list(group, filter=filter_ or "", sort=sort or "").all()
    rows = ((one.name, _kind(one), one.display_name, ", ".join(one.groups), _state(one)) for one in found)
    columns = ("name", "kind", "called", "groups", "state")
    emit(found, lambda: table(columns, rows, "there is no such user"))


@verb(users, "show")
def show_user(user: User_) -> None:
    """Show a user with the roles that it was given itself."""
    from muster.client import connect

    with connect() as client:
        found = client.users.get(user)
        bindings = client.roles.bindings(user=found.name).all()
    known: list[tuple[str, object]] = [
        ("name", found.name),
        ("kind", _kind(found)),
        ("called", found.display_name or None),
        ("state", _state(found)),
        ("groups", ", ".join(found.groups) or None),
    ]
    known += [("role", f"{one.role} on {place_of(one.workspace, one.project)}") for one in bindings]
    emit(found, lambda: facts(known))


@verb(users, "disable")
def disable(user: User_) -> None:
    """End all that a user may do, by whatever token."""
    _set_disabled(user, disabled=True)


@verb(users, "enable")
def enable(user: User_) -> None:
    """Let a disabled user's tokens count again."""
    _set_disabled(user, disabled=False)


@verb(users, "token")
def token(
    user: User_,
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


@verb(users, "tokens")
def tokens(filter_: Filter = None, sort: Sort = None) -> None:
    """List the tokens of your tenant, without their secrets."""
    from muster.client import connect

    with connect() as client:
        found = client.users.tokens(filter=filter_ or "", sort=sort or "").all()
    columns = ("id", "name", "user", "scope", "since", "until", "revoked")
    rows = (
        (one.id, one.name, one.user, ", ".join(one.scope), one.created_at, one.expires_at, one.revoked_at)
        for one in found
    )
    emit(found, lambda: table(columns, rows, "there is no such token"))


@verb(users, "revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="`muster user tokens` shows it.")],
) -> None:
    """End a token, everywhere within seconds: it was lost, or is needed no more."""
    from muster.client import connect

    with connect() as client:
        found = client.users.revoke_token(token)
    emit(found, lambda: note("token {} counts no more", found.name))


@verb(users, "password")
def password(user: User_) -> None:
    """Give a person a password, which is asked for; that person's sessions end."""
    from muster.client import connect

    with connect() as client:
        client.users.set_password(user, typer.prompt("password", hide_input=True, confirmation_prompt=True))
    note("{} has a new password, to be changed with `muster session password`", user)


@verb(users, "link")
def link(
    user: User_,
    provider: Annotated[
        str, typer.Option("--provider", help="The provider's name in the site's sign-in file.")
    ],
    subject: Annotated[str, typer.Option("--subject", help="Who it is there: the claim `sub`.")],
) -> None:
    """Let a person sign in, or a program call, as who a provider says it is."""
    from muster.client import connect

    with connect() as client:
        found = client.users.link(user, provider, subject)
    emit(found, lambda: note("{} is {} of {}", user, found.subject, found.issuer))


@verb(users, "identities")
def identities(user: User_) -> None:
    """List what a user is known by at providers."""
    from muster.client import connect

    with connect() as client:
        found = client.users.identities(user)
    rows = ((one.id, one.issuer, one.subject) for one in found)
    emit(found, lambda: table(("id", "provider", "subject"), rows, "no provider knows this user"))


@verb(users, "unlink")
def unlink(
    user: User_,
    identity: Annotated[str, typer.Argument(metavar="ID", help="`muster user identities` shows it.")],
) -> None:
    """Take from a user what it is known by at a provider."""
    from muster.client import connect

    with connect() as client:
        found = client.users.unlink(user, identity)
    emit(found, lambda: note("{} is no longer {} of {}", user, found.subject, found.issuer))


@verb(groups, "create")
def create_group(
    name: Group_,
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
) -> None:
    """Make a group without members."""
    from muster.client import connect

    with connect() as client:
        found = client.groups.create(name, description=description)
    emit(found, lambda: note("group {} is there", found.name))


@verb(groups, "list")
def list_groups(filter_: Filter = None, sort: Sort = None) -> None:
    """List the groups of your tenant."""
    from muster.client import connect

    with connect() as client:
        found = client.groups.list(filter=filter_ or "", sort=sort or "").all()
    rows = ((one.name, one.members, one.description) for one in found)
    emit(found, lambda: table(("name", ">members", "description"), rows, "there is no group"))


@verb(groups, "add")
def add(group: Group_, user: User_) -> None:
    """Put a user into a group: it may do what the group may."""
    from muster.client import connect

    with connect() as client:
        found = client.groups.add(group, user)
    emit(found, lambda: note("{} is in {}", found.name, ", ".join(found.groups)))


@verb(groups, "remove")
def remove(group: Group_, user: User_) -> None:
    """Take a user out of a group."""
    from muster.client import connect

    with connect() as client:
        found = client.groups.remove(group, user)
    emit(found, lambda: note("{} is in {}", found.name, ", ".join(found.groups) or "no group"))


@verb(groups, "delete")
def delete(group: Group_) -> None:
    """Take a group away with all that was given to it; its members stay."""
    from muster.client import connect

    with connect() as client:
        client.groups.delete(group)
    note("group {} is gone", group)


def place_of(workspace: str | None, project: str | None) -> str:
    """Return where a role counts, in words."""
    if workspace is None:
        return "the tenant"
    return f"workspace {workspace}" if project is None else f"project {project} of workspace {workspace}"


def _set_disabled(user: str, *, disabled: bool) -> None:
    from muster.client import connect

    with connect() as client:
        found = client.users.edit(user, disabled=disabled)
    emit(found, lambda: note("{} is {}", found.name, _state(found)))


def _kind(user: "User") -> str:
    return str(user.kind).replace("_", " ")


def _state(user: "User") -> str:
    return "active" if user.disabled_at is None else "disabled"
