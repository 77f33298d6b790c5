"""Implements `muster database`: runs `setup` with the secrets of a platform's directory, and keeps both consistent."""

import asyncio
import json
import secrets
from collections.abc import Coroutine
from typing import TypeVar

import asyncpg
import typer

from deploy.embedded.database import PLATFORM_ID, own_database, password_secret
from deploy.embedded.environment import postgres_environment
from deploy.embedded.first_start.initialise import done_file
from deploy.embedded.keys.identities import restart
from deploy.embedded.options import Options, home_to_find, load_options
from deploy.embedded.servers import Home
from deploy.embedded.servers.base import write_private
from deploy.embedded.state import load_state
from deploy.postgres.migrating import migrate_schemas, set_up_and_migrate
from deploy.postgres.setup import load_owner, set_passwords, short_id, take_over
from deploy.postgres.urls import SERVICES, PlatformDatabase, role_names
from muster.errors import Broken, Rejected, Transient

T = TypeVar("T")
FOLDER = "database"
"""Directory of settings files, one per service, for services that are started manually."""


def create(*, as_json: bool) -> None:
    """Create missing parts, migrate the schemas, and write the services' settings.

    Raises:
        Rejected: no server is configured, or the database's name is invalid.
        Conflict: the database belongs to another platform, or its logins have other passwords.
    """
    options = load_options()
    _check_server(options)
    home = Home(options.home)
    home.make()
    wanted = own_database(home, options)
    _reach(wanted, set_up_and_migrate(wanted))
    _write_settings(home, wanted)
    _report(home, wanted, f"the database {wanted.name} is set up", as_json=as_json)


def migrate(*, as_json: bool) -> None:
    """Migrate every service's schema to this release.

    Raises:
        Rejected: the platform does not exist, or a schema is newer or older than this release can use.
    """
    options, home = _existing_platform()
    wanted = own_database(home, options)
    _reach(wanted, migrate_schemas(wanted))
    _report(home, wanted, f"the schemas in {wanted.name} are migrated", as_json=as_json)


def rotate_passwords(service: str | None, *, as_json: bool) -> None:
    """Set new passwords for logins. Restart services that run here.

    Raises:
        Rejected: the service, platform or database does not exist.
        Conflict: the database does not belong to this platform.
        Broken: some services did not restart; all others did.
    """
    if service is not None and service not in SERVICES:
        raise Rejected(
            "service_unknown",
            f"unknown service {service!r}",
            hint=f"choose one of: {', '.join(SERVICES)}",
        )
    options, home = _existing_platform()
    fresh = {role: secrets.token_hex(24) for role in role_names(service)}
    wanted = own_database(home, options)
    with home.replacing_secrets({password_secret(role): password for role, password in fresh.items()}):
        # If the renaming is interrupted, the next start of the directory's own server sets the stored passwords.
        done_file(home, "database").unlink(missing_ok=True)
        _reach(wanted, set_passwords(wanted, fresh))
    wanted = own_database(home, options)
    _write_settings(home, wanted)
    services = SERVICES if service is None else (service,)
    is_here = _restart(options, services, "its new passwords are set in the database and in this directory")
    done = f"{', '.join(services)}: new passwords" + ("; restarted with them" if is_here else "")
    _report(home, wanted, done, as_json=as_json)


def take_over_database(*, is_sure: bool, as_json: bool) -> None:
    """Record this directory's platform as the database's owner, with its passwords. Restart services that run here.

    Raises:
        Rejected: no server is configured, the database does not exist, or the user did not confirm.
        Conflict: the database already belongs to this platform.
        Broken: some services did not restart; all others did.
    """
    options = load_options()
    _check_server(options)
    home = Home(options.home)
    home.make()
    wanted = own_database(home, options)
    before = _reach(wanted, load_owner(wanted))
    if before not in (None, wanted.platform) and not is_sure:
        _confirm(wanted, before)
    _reach(wanted, take_over(wanted))
    _write_settings(home, wanted)
    _restart(options, SERVICES, "the database belongs to this platform")
    message = f"the database {wanted.name} belongs to the platform in {options.home} now"
    if before is not None:
        message += f"; the platform {short_id(before)}… no longer has access: stop its remaining processes"
    _report(home, wanted, message, as_json=as_json)


def _confirm(wanted: PlatformDatabase, before: str) -> None:
    """Raise Rejected unless the user confirms that the former platform loses access."""
    question = (
        f"The database {wanted.name} belongs to the platform {before}, which will lose access. Take it over?"
    )
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Rejected(
            "not_confirmed",
            f"the database {wanted.name} was not taken over from the platform {before}: not confirmed",
            hint="pass --yes in scripts",
        )


def _existing_platform() -> tuple[Options, Home]:
    """Return the options and directory of an existing platform. Raises Rejected if there is none."""
    options = load_options(home=home_to_find())
    if not (options.home / PLATFORM_ID).exists():
        raise Rejected(
            "no_platform",
            f"{options.home} contains no platform: it has no {PLATFORM_ID}",
            hint="set MUSTER_HOME to the platform's folder, or run this in the folder where `muster up` was run",
        )
    return options, Home(options.home)


def _check_server(options: Options) -> None:
    """Raise Rejected if no Postgres server is configured."""
    if options.postgres_url is None:
        raise Rejected(
            "no_server",
            "MUSTER_POSTGRES__URL is not set; `muster up` sets up its own Postgres server automatically",
            hint="set it to an administrator's address, such as postgresql://postgres:PASSWORD@HOST/postgres",
        )


def _reach(wanted: PlatformDatabase, work: Coroutine[None, None, T]) -> T:
    try:
        return asyncio.run(work)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Transient(
            f"the database {wanted.name} could not be changed: {error};"
            " check MUSTER_POSTGRES__URL, and that the server (or this directory's platform, `muster up`) is running"
        ) from error


def _restart(options: Options, services: tuple[str, ...], if_not: str) -> bool:
    """Restart services of the platform that runs in the directory, one by one; return False if none runs.

    Raises:
        Broken: some did not restart; the message names each, and `if_not`, the resulting state.
    """
    state = load_state(options.home)
    if state is None or not state.supervisor.is_alive():
        return False
    failures = []
    for service in services:
        try:
            restart(options, state, service, if_not)
        except Broken as failure:
            failures.append(str(failure))
    if failures:
        raise Broken("\n".join(failures))
    return True


def _report(home: Home, wanted: PlatformDatabase, done: str, *, as_json: bool) -> None:
    folder = home.root / FOLDER
    if as_json:
        print(json.dumps({"database": wanted.name, "platform": wanted.platform, "settings": str(folder)}))
    else:
        print(
            f"{done}\nservices that you start yourself read their settings from {folder}/SERVICE.env (mode 0600)"
        )


def _write_settings(home: Home, wanted: PlatformDatabase) -> None:
    folder = home.root / FOLDER
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    for service, urls in wanted.urls.items():
        lines = [f"{name}={value}\n" for name, value in postgres_environment(urls).items()]
        write_private(folder / f"{service}.env", "".join(lines))
