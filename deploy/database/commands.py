"""The command group `muster database`. Heavy imports are deferred until a command runs."""

from typing import Annotated

import typer

database = typer.Typer(
    help="Manage the platform's database on your own Postgres server.",
    no_args_is_help=True,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@database.callback()
def _database() -> None:
    """Manage the platform's database on your own Postgres server."""


@database.command("init")
def init(as_json: Json = False) -> None:
    """Create missing databases, roles and schemas, migrate the schemas, and write each service's settings. Existing passwords do not change."""
    from deploy.database.operator import create

    create(as_json=as_json)


@database.command("migrate")
def migrate(as_json: Json = False) -> None:
    """Migrate the schemas of all services to this release. Services wait for it and cannot do it themselves."""
    from deploy.database.operator import migrate

    migrate(as_json=as_json)


@database.command("rotate")
def rotate(
    service: Annotated[
        str | None, typer.Argument(metavar="[SERVICE]", help="A service's name. Default: all services.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Set new passwords for a service's three logins, and restart the service if the platform runs here."""
    from deploy.database.operator import rotate_passwords

    rotate_passwords(service, as_json=as_json)


@database.command("take-over")
def take_over(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Take over a database whose platform directory is lost. The former platform loses access."""
    from deploy.database.operator import take_over_database

    take_over_database(is_sure=yes, as_json=as_json)
