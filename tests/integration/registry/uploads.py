"""A worker's way with files: a manifest, an upload to each link, a commit."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import urllib3

from shared.ids import CheckpointId, new_id
from shared.messages.files import FileEntry, FileLink
from shared.objects.s3 import S3Objects
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.servers import BUCKET

HTTP = urllib3.PoolManager(retries=False)
FILES = {"model.pt": b"weights" * 1000, "optimizer/state.bin": b"moments" * 500, "empty": b""}
SMALL = 16
"""Bytes of the smallest file of `fresh`: so many that nobody else has sent them."""
FRESH = 2 * 700 + SMALL
"""Bytes of all its files."""


def fresh(size: int = 700) -> dict[str, bytes]:
    """Files whose contents nobody has sent before, so that each gets a link."""
    return {"model.pt": os.urandom(size), "optimizer/state.bin": os.urandom(size), "small": os.urandom(SMALL)}


def manifest(files: dict[str, bytes]) -> list[FileEntry]:
    return [
        FileEntry(path=path, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for path, content in files.items()
    ]


async def send(links: tuple[FileLink, ...], files: dict[str, bytes]) -> None:
    assert set(await tried(links, files)) <= {200}


async def tried(links: tuple[FileLink, ...], files: dict[str, bytes]) -> list[int]:
    """The store's answers to these files, or to their parts."""
    requests = [
        (url, headers, files[link.path][first:][:size_bytes])
        for link in links
        for url, headers, first, size_bytes in (
            [(part.url, {}, part.first, part.size_bytes) for part in link.parts]
            or [(link.url, link.headers, 0, None)]
        )
    ]
    return [
        (await asyncio.to_thread(HTTP.request, "PUT", url, body=body, headers=headers)).status
        for url, headers, body in requests
    ]


async def fetch(url: str) -> bytes:
    response = await asyncio.to_thread(HTTP.request, "GET", url)
    assert response.status == 200
    return response.data


async def save(
    around: Platform,
    run: Run,
    number: int,
    step: int,
    after_report: int = 0,
    files: dict[str, bytes] = FILES,
) -> CheckpointId:
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, number, step, manifest(files))
    await send(links.files, files)
    assert (await around.commit(run, checkpoint, after_report)).state == "saved"
    return checkpoint


async def events(around: Platform, kind: str, checkpoint: UUID) -> int:
    return len(await around.emitted(f"checkpoint.{kind}", checkpoint_id=checkpoint))


async def happened(around: Platform, kind: str, checkpoint: UUID) -> bool:
    return await events(around, kind, checkpoint) == 1


async def listed(around: Platform, prefix: str) -> list[str]:
    """The keys below it."""
    async with store(around) as objects:
        return [found.key async for found in objects.list(prefix)]


@asynccontextmanager
async def store(around: Platform) -> AsyncIterator[S3Objects]:
    """The store itself, as whoever keeps it reaches it."""
    s3 = around.servers.s3
    objects = S3Objects(s3.url, *s3.platform, BUCKET, clock=CLOCK)
    try:
        yield objects
    finally:
        await objects.close()
