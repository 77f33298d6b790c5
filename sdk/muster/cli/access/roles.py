"""`muster role`: what may be done, and who was given it where; `muster tenant`, for who keeps a site."""

from typing import Annotated

import typer

from muster.cli.access.users import Days, place_of
from muster.cli.base.frame import noun, verb
from muster.cli.base.options import Filter, Sort
from muster.cli.base.output import emit, facts, note, table

app = noun("Give roles on the tenant, a workspace or a project, and see who has which.")
tenants = noun("The tenants of a site, for who keeps it.")

Role_ = Annotated[str, typer.Argument(metavar="ROLE", help="Its name, as `muster role list` shows it.")]
Permissions = Annotated[
    list[str],
    typer.Option("--permission", help="Such as experiment.read; `muster whoami` lists yours. Repeatable."),
]
OfUser = Annotated[str | None, typer.Option("--user", help="To this user.")]
OfGroup = Annotated[str | None, typer.Option("--group", help="To this group.")]
Workspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="On this workspace; by default on the tenant.")
]


@verb(app, "list")
def list_roles() -> None:
    """List the roles that can be given."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.list()
    rows = ((one.name, "tenant" if one.tenant_only else "anything", one.description) for one in found)
    emit(found, lambda: table(("role", "given on", ""), rows, "there is no role"))


@verb(app, "show")
def show(role: Role_) -> None:
    """Show a role with its permissions."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.get(role)
    known: list[tuple[str, object]] = [("role", found.name), ("", found.description)]
    emit(found, lambda: facts([*known, *(("may", permission) for permission in found.permissions)]))


@verb(app, "create")
def create(
    role: Role_,
    permission: Permissions,
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
) -> None:
    """Make a role of permissions that you have on the tenant."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.create(role, permission, description=description)
    emit(found, lambda: note("role {} may {}", found.name, ", ".join(found.permissions)))


@verb(app, "edit")
def edit(role: Role_, permission: Permissions) -> None:
    """Change what a role of your tenant's own may do, for all who have it."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.edit(role, permissions=permission)
    emit(found, lambda: note("role {} may {}", found.name, ", ".join(found.permissions)))


@verb(app, "delete")
def delete(role: Role_) -> None:
    """Take a role away that your tenant made and nobody has."""
    from muster.client import connect

    with connect() as client:
        client.roles.delete(role)
    note("role {} is gone", role)


@verb(app, "grant")
def grant(
    role: Role_,
    user: OfUser = None,
    group: OfGroup = None,
    workspace: Workspace = None,
    project: Annotated[str | None, typer.Option("--project", help="On this project of it.")] = None,
) -> None:
    """Give a role to a user or a group; it counts within seconds."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.grant(role, user=user, group=group, workspace=workspace, project=project)
    place = place_of(found.workspace, found.project)
    emit(found, lambda: note("{} is {} on {}", found.user or f"group {found.group}", found.role, place))


@verb(app, "bindings")
def bindings(
    role: Annotated[str | None, typer.Option("--role", help="Of this role.")] = None,
    user: OfUser = None,
    group: OfGroup = None,
    workspace: Annotated[str | None, typer.Option("--workspace", "-w", help="On this workspace.")] = None,
    filter_: Filter = None,
    sort: Sort = None,
) -> None:
    """List who was given which role where."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.bindings(
            role=role, user=user, group=group, workspace=workspace, filter=filter_ or "", sort=sort or ""
        ).all()
    columns = ("id", "role", "user", "group", "on", "given by")
    rows = (
        (one.id, one.role, one.user, one.group, place_of(one.workspace, one.project), one.by) for one in found
    )
    emit(found, lambda: table(columns, rows, "nothing of that was given"))


@verb(app, "revoke")
def revoke(
    binding: Annotated[
        str, typer.Argument(metavar="BINDING", help="Its id: `muster role bindings` shows it.")
    ],
) -> None:
    """Take back what was given."""
    from muster.client import connect

    with connect() as client:
        found = client.roles.revoke(binding)
    place = place_of(found.workspace, found.project)
    emit(
        found,
        lambda: note("{} is no longer {} on {}", found.user or f"group {found.group}", found.role, place),
    )


@verb(tenants, "create")
def create_tenant(
    name: Annotated[str, typer.Argument(metavar="TENANT", help="Its name.")], days: Days = 7
) -> None:
    """Make a tenant and print the token of its first admin, this one time."""
    from muster.client import connect

    with connect() as client:
        found = client.tenants.create(name, ttl_s=days * 86_400)
    emit(found, lambda: print(found.secret))


@verb(tenants, "recover")
def recover_tenant(
    name: Annotated[str, typer.Argument(metavar="TENANT", help="Its name.")],
    days: Annotated[int, typer.Option("--days", min=1, max=7, help="So long the token counts.")] = 1,
) -> None:
    """Let a tenant in again whose admins have lost their access: print a token of its first admin, this one time.

    Its own list of tokens shows that this was done, and by whom.
    """
    from muster.client import connect

    with connect() as client:
        found = client.tenants.recover(name, ttl_s=days * 86_400)
    emit(found, lambda: print(found.secret))


@verb(tenants, "list")
def list_tenants(filter_: Filter = None, sort: Sort = None) -> None:
    """List the tenants of the site."""
    from muster.client import connect

    with connect() as client:
        found = client.tenants.list(filter=filter_ or "", sort=sort or "").all()
    rows = ((one.name, one.created_at.strftime("%Y-%m-%d"), one.id) for one in found)
    emit(found, lambda: table(("name", "since", "id"), rows, "there is no tenant"))
