"""Whatever a platform has written, for a search through all of it: files, command lines, objects, figures, rows, messages, cache."""

import contextlib
import os
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
import psutil
from minio import Minio
from nats.js.errors import NotFoundError
from redis.asyncio import Redis

from deploy.embedded.servers import Home, PostgresServer, RedisServer
from deploy.embedded.servers.s3 import BUCKET
from deploy.embedded.supervision.orphan_processes import find_marked
from deploy.keys.directory import Keys
from deploy.keys.permissions import ADMIN
from deploy.postgres.urls import DATABASE, on_database
from shared.bus import Bus


@dataclass(frozen=True)
class Places:
    """The servers of a running platform, as who administers it reaches them."""

    home: Path
    ports: Mapping[str, tuple[int, ...]]

    def secret(self, name: str) -> str:
        return (self.home / "secrets" / name).read_text().strip()


async def everything(places: Places) -> AsyncIterator[tuple[str, bytes]]:
    """Yield where something stands, `<kind> <place>`, and its bytes, unpacked where they are packed."""
    for found in (_files(places.home), _command_lines(places.home), _objects(places), _figures(places)):
        for each in found:
            yield each
    async for each in rows(places):
        yield each
    async for each in _messages(places):
        yield each
    async for each in _cached(places):
        yield each


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Logs, spans, settings, workers' folders, and the bus's own store; what the database and the store hold is asked of themselves."""
    elsewhere = (home / "data" / "postgres", home / "data" / "s3")
    # Unlike `rglob`, it passes over folders of runs that end meanwhile.
    for path in (Path(folder, name) for folder, _, names in os.walk(home) for name in names):
        if path.is_file() and not any(path.is_relative_to(other) for other in elsewhere):
            with contextlib.suppress(FileNotFoundError):
                yield f"file {path.relative_to(home)}", path.read_bytes()


def _command_lines(home: Path) -> Iterator[tuple[str, bytes]]:
    """What every user of the machine can see."""
    for process in find_marked(home):
        with contextlib.suppress(psutil.Error):
            words = psutil.Process(process.pid).cmdline()
            yield f"command line of {words[:4]}", " ".join(words).encode()


def object_names(places: Places) -> list[str]:
    """The keys of all stored objects."""
    return [str(entry.object_name) for entry in _store(places).list_objects(BUCKET, recursive=True)]


def _store(places: Places) -> Minio:
    return Minio(
        f"127.0.0.1:{places.ports['s3'][0]}",
        "muster-admin",
        places.secret("s3-admin-key"),
        secure=False,
        region="us-east-1",
    )


def _objects(places: Places) -> Iterator[tuple[str, bytes]]:
    store = _store(places)
    for name in object_names(places):
        answer = store.get_object(BUCKET, name)
        yield f"object {name}", _opened(answer.read())
        answer.close()
        answer.release_conn()


def _figures(places: Places) -> Iterator[tuple[str, bytes]]:
    guard = {"Authorization": f"Bearer {places.secret('side-token')}"}
    for service in ("gateway", "registry", "searcher", "scheduler", "provisioner", "simulator", "bus-keeper"):
        answer = httpx.get(f"http://127.0.0.1:{places.ports[service][-1]}/metrics", headers=guard)
        assert answer.status_code == 200
        yield f"figures of {service}", answer.content


async def rows(places: Places) -> AsyncIterator[tuple[str, bytes]]:
    """Every row of every schema, as the administrator sees it: no policy narrows it."""
    database = await asyncpg.connect(
        on_database(PostgresServer(Home(places.home)).administrator_url, DATABASE)
    )
    try:
        tables = await database.fetch(
            "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        )
        assert len(tables) > 50
        for table in (str(row["name"]) for row in tables):
            found = await database.fetch(f"SELECT * FROM {table}")
            yield (
                f"table {table}",
                b"\n".join(_opened(_bytes(value)) for row in found for value in row.values()),
            )
    finally:
        await database.close()


async def _messages(places: Places) -> AsyncIterator[tuple[str, bytes]]:
    url, credentials = (
        f"nats://127.0.0.1:{places.ports['nats'][0]}",
        Keys(places.home / "keys").credentials(ADMIN),
    )
    async with await Bus.connect(url, ADMIN, credentials) as bus:
        streams = await bus.jetstream.streams_info()
        assert {stream.config.name for stream in streams} >= {"EVT", "CMD"}
        for stream in streams:
            name = str(stream.config.name)
            for sequence in range(max(stream.state.first_seq, 1), stream.state.last_seq + 1):
                with contextlib.suppress(NotFoundError):
                    message = await bus.jetstream.get_msg(name, sequence)
                    yield (
                        f"stream {name} {message.subject}",
                        f"{message.headers}".encode() + (message.data or b""),
                    )


async def _cached(places: Places) -> AsyncIterator[tuple[str, bytes]]:
    async with Redis.from_url(RedisServer(Home(places.home)).url) as redis:
        async for key in redis.scan_iter():
            match await redis.type(key):
                case b"string":
                    yield f"cache {key!r}", key + (await redis.get(key) or b"")
                case b"hash":
                    yield f"cache {key!r}", key + repr(await redis.hgetall(key)).encode()
                case other:
                    raise AssertionError(f"{key!r} is a {other!r}: teach the test to read it")


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _opened(content: bytes) -> bytes:
    """With what is packed in it."""
    for wrapping in (zlib.MAX_WBITS, zlib.MAX_WBITS | 16):
        with contextlib.suppress(zlib.error):
            return content + zlib.decompress(content, wrapping)
    return content
