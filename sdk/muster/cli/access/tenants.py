"""`muster tenant`: create tenants, and restore access to one."""

from typing import Annotated

import typer

from muster.cli.access.users import Days
from muster.cli.base.frame import verb
from muster.cli.base.output import emit
from muster.cli.table import NOUNS

tenants = NOUNS["tenant"].app


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
