"""A worker's way with files: a manifest, an upload to each link, a commit."""

import asyncio
import hashlib
from uuid import UUID

import urllib3

from shared.ids import CheckpointId, new_id
from shared.messages.files import FileEntry, FileLink
from tests.integration.registry.platform import CLOCK, Platform, Run

HTTP = urllib3.PoolManager(retries=False)
FILES = {"model.pt": b"weights" * 1000, "optimizer/state.bin": b"moments" * 500, "empty": b""}


def manifest(files: dict[str, bytes]) -> list[FileEntry]:
    return [
        FileEntry(path=path, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for path, content in files.items()
    ]


async def send(links: tuple[FileLink, ...], files: dict[str, bytes]) -> None:
    for link in links:
        response = await asyncio.to_thread(HTTP.request, "PUT", link.url, body=files[link.path])
        assert response.status == 200


async def fetch(url: str) -> bytes:
    response = await asyncio.to_thread(HTTP.request, "GET", url)
    assert response.status == 200
    return response.data


async def save(around: Platform, run: Run, number: int, step: int, after_report: int = 0) -> CheckpointId:
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, number, step, manifest(FILES))
    await send(links.files, FILES)
    assert (await around.commit(run, checkpoint, after_report)).state == "saved"
    return checkpoint


async def events(around: Platform, kind: str, checkpoint: UUID) -> int:
    return len(await around.emitted(f"checkpoint.{kind}", checkpoint_id=checkpoint))


async def happened(around: Platform, kind: str, checkpoint: UUID) -> bool:
    return await events(around, kind, checkpoint) == 1
