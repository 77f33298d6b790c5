"""`muster database rotate` and `take-over` where something goes wrong on the way: cut short, services that do not come back, another folder."""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from deploy.database import operator
from deploy.embedded.database import own_database
from deploy.embedded.host.processes import ProcessId
from deploy.embedded.keys import identities
from deploy.embedded.options import Options, load_options
from deploy.embedded.platform import Platform
from deploy.embedded.servers import Home, PostgresServer
from deploy.embedded.state import Part, State
from deploy.postgres.setup import drop_database, load_owner, set_passwords
from deploy.postgres.urls import PlatformDatabase
from muster.errors import Broken, Conflict, Rejected
from tests.integration.servers import Servers

NAME = "muster_operated"


@pytest.fixture
def external(servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Options]:
    """A platform's folder with a database on a server of its operator's own."""
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MUSTER_POSTGRES__URL", servers.postgres.administrator_url)
    monkeypatch.setenv("MUSTER_POSTGRES__DATABASE", NAME)
    operator.create(as_json=True)
    yield load_options()
    asyncio.run(drop_database(servers.postgres.administrator_url, NAME))


@pytest.fixture
def stopping(
    external: Options, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Services that the state file shows as running, and that nobody starts again."""
    services = {name: subprocess.Popen(["sleep", "600"]) for name in ("gateway", "scheduler")}
    parts = tuple(
        Part(name, "service", "running", ProcessId.of(process.pid)) for name, process in services.items()
    )
    supervisor = ProcessId.of(os.getpid())
    assert supervisor is not None
    State("ready", supervisor, parts=parts).save(external.home)
    monkeypatch.setattr(identities, "_RESTART_TIMEOUT_S", 0.1)
    yield services
    for process in services.values():
        process.kill()
        process.wait()


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """A platform whose folder has its own Postgres; only that runs."""
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "home"))
    platform = Platform(load_options())
    (postgres,) = (server for server in platform.servers if isinstance(server, PostgresServer))
    postgres.prepare()
    postgres.start()
    try:
        postgres.wait_ready()
        yield platform
    finally:
        postgres.stop()


def wanted_by(options: Options) -> PlatformDatabase:
    return own_database(Home(options.home), options)


async def log_in_everywhere(wanted: PlatformDatabase) -> None:
    for urls in wanted.urls.values():
        for url in (urls.owner, urls.tenant, urls.system):
            await (await asyncpg.connect(url)).close()


def test_a_rotation_that_is_cut_short_locks_no_embedded_platform_out(
    embedded: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up = embedded.after()["postgres"]
    set_up()

    async def killed_after_it(wanted: PlatformDatabase, passwords: Mapping[str, str]) -> None:
        await set_passwords(wanted, passwords)
        raise KeyboardInterrupt

    monkeypatch.setattr(operator, "set_passwords", killed_after_it)
    with suppress(KeyboardInterrupt):
        operator.rotate_passwords(None, as_json=True)
    set_up()
    asyncio.run(log_in_everywhere(wanted_by(embedded.options)))


def test_a_full_disk_changes_no_password(external: Options) -> None:
    before = wanted_by(external)
    blocked = external.home / "secrets" / "postgres-registry_system.new"
    blocked.mkdir()
    with pytest.raises(OSError):
        operator.rotate_passwords(None, as_json=True)
    blocked.rmdir()
    assert wanted_by(external) == before
    asyncio.run(log_in_everywhere(before))


def test_services_that_do_not_come_back_are_all_named_after_each_was_restarted(
    external: Options, stopping: dict[str, subprocess.Popen[bytes]]
) -> None:
    with pytest.raises(Broken) as error:
        operator.rotate_passwords(None, as_json=True)
    for name, process in stopping.items():
        assert f"{name} did not start again" in str(error.value)
        process.wait(10)
    assert "its new passwords are set" in str(error.value) and "signed" not in str(error.value)
    wanted = wanted_by(external)
    assert wanted.urls["registry"].system in (external.home / "database" / "registry.env").read_text()
    asyncio.run(log_in_everywhere(wanted))


def test_a_platform_that_runs_takes_its_database_back(
    external: Options, stopping: dict[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = wanted_by(external)
    with pytest.raises(Conflict) as refused:
        operator.take_over_database(is_sure=True, as_json=True)
    assert refused.value.code == "already_owned"

    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MUSTER_HOME", str(external.home.parent / "other"))
        operator.take_over_database(is_sure=True, as_json=True)
    assert asyncio.run(load_owner(first)) != first.platform

    with pytest.raises(Broken, match="the database belongs to this platform"):
        operator.take_over_database(is_sure=True, as_json=True)
    assert asyncio.run(load_owner(first)) == first.platform
    asyncio.run(log_in_everywhere(first))
    for process in stopping.values():
        process.wait(10)


def test_a_rotation_without_a_platform_is_refused_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(Rejected, match="MUSTER_HOME") as error:
        operator.rotate_passwords(None, as_json=True)
    assert error.value.code == "no_platform"
    assert not (tmp_path / "nowhere").exists()
