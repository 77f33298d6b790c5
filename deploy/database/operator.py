"""What `muster database` does: run the steps of `setup` with the secrets of a platform's folder, and keep both in agreement."""

import asyncio
import json
import secrets
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import asyncpg

from deploy.database.setup import set_passwords, set_up_database, take_over
from deploy.database.urls import SERVICES, PlatformDatabase, role_names
from deploy.embedded.database import own_database, password_secret
from deploy.embedded.environment import postgres_environment
from deploy.embedded.identities import restart
from deploy.embedded.options import Options, home_to_find, load_options
from deploy.embedded.servers import Home
from deploy.embedded.servers.base import write_private
from deploy.embedded.state import load_state
from muster.errors import Conflict, Rejected, Transient

T = TypeVar("T")
FOLDER = "database"
"""Of the platform's folder: one file of settings per service, for services that are started by hand."""


def create(*, as_json: bool) -> None:
    """Create what is missing, and write the services' settings.

    Raises:
        Rejected: no server is named, or the database's name cannot be used.
        Conflict: the database is another platform's, or its logins have other passwords.
    """
    options = load_options()
    _check_server(options)
    home = Home(options.home)
    home.make()
    wanted = own_database(home, options)
    _reach(wanted, set_up_database(wanted))
    _report(home, wanted, f"the database {wanted.name} is set up", as_json=as_json)


def rotate_passwords(service: str | None, *, as_json: bool) -> None:
    """Give logins new passwords. Services that run here are restarted with them.

    Raises:
        Rejected: there is no such service.
        Conflict: the database is another platform's.
        Broken: a service did not come back.
    """
    if service is not None and service not in SERVICES:
        raise Rejected(
            "service_unknown",
            f"there is no service {service!r} with a schema",
            hint=f"one of {', '.join(SERVICES)}",
        )
    options = load_options(home=home_to_find())
    home = Home(options.home)
    fresh = {role: secrets.token_hex(24) for role in role_names(service)}
    wanted = own_database(home, options)
    _reach(wanted, set_passwords(wanted, fresh))
    for role, password in fresh.items():
        home.replace_secret(password_secret(role), password)
    services = SERVICES if service is None else (service,)
    is_here = _restart(options, services)
    done = f"{', '.join(services)}: new passwords" + (", and started again with them" if is_here else "")
    _report(home, own_database(home, options), done, as_json=as_json)


def take_over_database(*, as_json: bool) -> None:
    """Record this folder's platform as the database's owner, with this folder's passwords.

    Raises:
        Rejected: no server is named, or it has no such database.
        Conflict: this folder's platform runs; it has its database already.
    """
    options = load_options()
    state = load_state(options.home)
    if state is not None and state.supervisor.is_alive():
        raise Conflict(
            "already_up",
            f"a platform runs in {options.home}, so it has its database already",
            hint="set MUSTER_HOME to the folder that is to have the database",
        )
    _check_server(options)
    home = Home(options.home)
    home.make()
    wanted = own_database(home, options)
    before = _reach(wanted, take_over(wanted))
    said = f"the database {wanted.name} belongs to the platform in {options.home} from now on"
    if before is not None:
        said += f"; the platform {before}… no longer gets in: stop what still runs of it"
    _report(home, wanted, said, as_json=as_json)


def _check_server(options: Options) -> None:
    """Raises Rejected where no server of the operator's own is named."""
    if options.postgres_url is None:
        raise Rejected(
            "no_server",
            "MUSTER_POSTGRES__URL is not set, and `muster up` sets up the Postgres server that it starts by itself",
            hint="set it to an administrator's address, such as postgresql://postgres:PASSWORD@HOST/postgres",
        )


def _reach(wanted: PlatformDatabase, work: Coroutine[None, None, T]) -> T:
    try:
        return asyncio.run(work)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Transient(
            f"the administrator could not change the database {wanted.name}: {error};"
            " check MUSTER_POSTGRES__URL, and that the server (or this folder's platform, `muster up`) runs"
        ) from error


def _restart(options: Options, services: tuple[str, ...]) -> bool:
    """Restart services of the platform that runs in the folder, one after the other; False where none runs."""
    state = load_state(options.home)
    if state is None or not state.supervisor.is_alive():
        return False
    for service in services:
        restart(options, state, service)
    return True


def _report(home: Home, wanted: PlatformDatabase, done: str, *, as_json: bool) -> None:
    folder = home.root / FOLDER
    _write_settings(folder, wanted)
    if as_json:
        print(json.dumps({"database": wanted.name, "platform": wanted.platform, "settings": str(folder)}))
    else:
        print(f"{done}\nservices started by hand read their settings from {folder}/SERVICE.env (mode 0600)")


def _write_settings(folder: Path, wanted: PlatformDatabase) -> None:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    for service, urls in wanted.urls.items():
        lines = [f"{name}={value}\n" for name, value in postgres_environment(urls).items()]
        write_private(folder / f"{service}.env", "".join(lines))
