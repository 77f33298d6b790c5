"""`muster database`: what the operator types. Heavy imports wait until a command runs."""

from typing import Annotated

import typer

database = typer.Typer(
    help="The platform's database on a Postgres server of your own: created, rotated, taken over.",
    no_args_is_help=True,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@database.callback()
def _database() -> None:
    """The platform's database on a Postgres server of your own: created, rotated, taken over."""


@database.command("init")
def init(as_json: Json = False) -> None:
    """Create the database, roles and schemas that are missing, and write each service's settings; changes no existing password."""
    from deploy.database.operator import create

    create(as_json=as_json)


@database.command("rotate")
def rotate(
    service: Annotated[
        str | None, typer.Argument(metavar="[SERVICE]", help="A service's name; all when left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give a service's three logins new passwords, and restart it with them where the platform runs here."""
    from deploy.database.operator import rotate_passwords

    rotate_passwords(service, as_json=as_json)


@database.command("take-over")
def take_over(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take it over without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Make this folder's platform the owner of a database whose platform's folder is lost; the former platform is locked out."""
    from deploy.database.operator import take_over_database

    take_over_database(is_sure=yes, as_json=as_json)
