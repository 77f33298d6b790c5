"""Two releases on one schema: the older starts on what the newer left wherever that still serves it, and says so where not."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from muster.errors import Rejected
from shared.database.upgrading import migrate
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually

SERVICE = "provisioner"
VERSIONS = Path("services/provisioner/migrations/versions").absolute()


@pytest.fixture
def empty(servers: Servers) -> Iterator[TestDatabase]:
    """A database without tables."""
    database = servers.new_database()
    yield database
    servers.drop(database)


def owner_url(database: TestDatabase) -> str:
    return database.urls[SERVICE].owner


def release(folder: Path, *added: tuple[str, str, str | None]) -> Path:
    """A release with these migrations after today's: revision, its predecessor, and `compatible_from`."""
    shutil.copytree(VERSIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for revision, before, since in added:
        lines = ["from alembic import op", f'revision = "{revision}"', f'down_revision = "{before}"']
        lines += [f'compatible_from = "{since}"'] if since else []
        lines += ["def upgrade():", f'    op.execute("CREATE TABLE {SERVICE}.t{revision} (n int)")']
        (folder / f"{revision}_added.py").write_text("\n".join(lines) + "\n")
    return folder


async def recorded(database: TestDatabase) -> tuple[str, str]:
    connection = await asyncpg.connect(database.urls[SERVICE].owner)
    try:
        row = await connection.fetchrow(f"SELECT * FROM {SERVICE}.alembic_version")
        return row["version_num"], row["compatible_from"]
    finally:
        await connection.close()


async def test_an_older_release_starts_on_a_schema_that_still_serves_it(
    empty: TestDatabase, tmp_path: Path
) -> None:
    today = release(tmp_path / "today")
    await migrate(owner_url(empty), SERVICE, today)
    newest, _ = await recorded(empty)
    additions = ("9001", newest, newest), ("9002", "9001", newest)
    await migrate(owner_url(empty), SERVICE, release(tmp_path / "next", *additions))
    assert await recorded(empty) == ("9002", newest)
    for older in (today, release(tmp_path / "between", additions[0])):
        await migrate(owner_url(empty), SERVICE, older)
    assert await recorded(empty) == ("9002", newest)


@pytest.mark.parametrize("since", ["9002", None])
async def test_an_older_release_names_both_versions_where_the_schema_no_longer_serves_it(
    empty: TestDatabase, tmp_path: Path, since: str | None
) -> None:
    await migrate(owner_url(empty), SERVICE)
    newest, _ = await recorded(empty)
    added, breaking = ("9001", newest, newest), ("9002", "9001", since)
    await migrate(owner_url(empty), SERVICE, release(tmp_path / "next", added, breaking))
    for older, own in ((VERSIONS, newest), (release(tmp_path / "between", added), "9001")):
        with pytest.raises(Rejected) as refused:
            await migrate(owner_url(empty), SERVICE, older)
        assert refused.value.code == "schema_too_new"
        for told in (SERVICE, "9002", own, "restore the backup"):
            assert told in str(refused.value)


@pytest.mark.parametrize(
    "columns", [("initial_revision",), ("initial_revision", "compatible_from", "release")]
)
@pytest.mark.parametrize("revision", ["0011", "provisioner_0001"])
async def test_a_schema_from_before_the_initial_migrations_is_refused(
    empty: TestDatabase, revision: str, columns: tuple[str, ...]
) -> None:
    await migrate(owner_url(empty), SERVICE)
    owner = await asyncpg.connect(empty.urls[SERVICE].owner)
    try:
        await owner.execute(f"UPDATE {SERVICE}.alembic_version SET version_num = '{revision}'")
        for column in columns:
            await owner.execute(f"ALTER TABLE {SERVICE}.alembic_version DROP COLUMN {column}")
        with pytest.raises(Rejected) as refused:
            await migrate(owner_url(empty), SERVICE)
        assert refused.value.code == "schema_too_old"
        for told in (SERVICE, revision, "before 0.2.0", "empty database", "MUSTER_HOME"):
            assert told in str(refused.value)
        assert await owner.fetchval(f"SELECT version_num FROM {SERVICE}.alembic_version") == revision
    finally:
        await owner.close()


async def test_a_replica_that_waited_while_a_newer_one_upgraded_starts(
    empty: TestDatabase, tmp_path: Path
) -> None:
    await migrate(owner_url(empty), SERVICE)
    newest, _ = await recorded(empty)
    older = release(tmp_path / "older", ("9001", newest, newest))
    newer = await asyncpg.connect(empty.urls[SERVICE].owner)
    try:
        await newer.execute("SELECT pg_advisory_lock(hashtextextended($1, 0))", f"muster:{SERVICE}")
        waiting = asyncio.create_task(migrate(owner_url(empty), SERVICE, older))

        async def waits() -> bool:
            return bool(
                await newer.fetchval(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                )
            )

        await eventually(waits)
        await newer.execute(f"UPDATE {SERVICE}.alembic_version SET version_num = '9002'")
    finally:
        await newer.close()
    await waiting
    assert (await recorded(empty))[0] == "9002"


async def test_a_service_restarts_after_a_rollback_or_says_why_not(servers: Servers, tmp_path: Path) -> None:
    database = servers.migrated_database()
    try:
        owner = await asyncpg.connect(database.urls["searcher"].owner)
        await owner.execute("UPDATE searcher.alembic_version SET version_num = '9001', release = '9.0'")
        with _searcher(servers, database, tmp_path / "accepted.log") as (service, log):
            await eventually(
                lambda: "the process became ready" in log.read_text() or service.poll() is not None
            )
            assert service.poll() is None, log.read_text()
            assert "a newer schema was accepted" in log.read_text()
        await owner.execute("UPDATE searcher.alembic_version SET compatible_from = '9001'")
        await owner.close()
        with _searcher(servers, database, tmp_path / "refused.log") as (service, log):
            await eventually(lambda: service.poll() is not None)
            assert service.returncode == 1
            for told in ("written by release 9.0", "searcher_", "restore the backup"):
                assert told in log.read_text()
    finally:
        servers.drop(database)


@contextmanager
def _searcher(
    servers: Servers, database: TestDatabase, log: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    own = servers.environment("searcher", database) | {"MUSTER_SIDE__PORT": "0"}
    with log.open("wb") as file:
        service = subprocess.Popen(
            [sys.executable, "-m", "services.searcher"], env=kept | own, stdout=file, stderr=file
        )
    try:
        yield service, log
    finally:
        service.terminate()
        service.wait(20)
