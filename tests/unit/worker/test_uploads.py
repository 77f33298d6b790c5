"""How a checkpoint is announced, however many files it has, and how a worker says that it will not come."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from muster.errors import MusterError, NotFound, Transient
from shared.ids import CheckpointId, RunId, WorkerId
from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    Upload,
    UploadLinks,
    UploadMany,
)
from shared.messages.files import FileEntry
from worker.transfer.checkpoints.upload import PAGE_BYTES, Announced, UploadEvents, announcements_of
from worker.transfer.checkpoints.uploads import Uploads

FEW, MANY = 3, 1_000


def _announced(count: int) -> Announced:
    files = [
        FileEntry(path=f"{place:04d}/{'p' * 950}", size_bytes=place, sha256="0" * 64)
        for place in range(count)
    ]
    return Announced(
        run_id=RunId(UUID(int=1)),
        checkpoint_id=CheckpointId(UUID(int=2)),
        number=1,
        step=10,
        directory=Path("/nowhere"),
        after_report=0,
        parts=(WorkerId("w1"), WorkerId("w2")),
        files=tuple(files),
    )


def test_every_file_is_announced_once_and_no_message_is_too_large() -> None:
    record = _announced(MANY)
    pages = announcements_of(record)
    assert all(len(page.to_bytes()) < PAGE_BYTES + 4_096 for page in pages)
    assert [entry for page in pages if page.page for entry in page.page.files] == list(record.files or ())
    assert all(page.page and page.page.parts == record.parts for page in pages)
    assert not any(page.files or page.parts for page in pages), "who knows no pages must not take one for all"


def test_few_files_are_announced_as_ever() -> None:
    [only] = announcements_of(_announced(FEW))
    assert (len(only.files), only.parts, only.page) == (FEW, ("w1", "w2"), None)
    [empty] = announcements_of(_announced(0))
    assert empty.files == () and empty.page is None


@dataclass
class Registry:
    """Answers as it is told to; `heard` is what it was sent."""

    fails: list[MusterError] = field(default_factory=list)
    heard: list[Upload] = field(default_factory=list)

    async def announce(self, upload: Upload) -> UploadLinks:
        if self.fails:
            raise self.fails.pop(0)
        self.heard.append(upload)
        return UploadLinks(
            files=(), state="abandoned" if upload.given_up else "uploading", reason=upload.given_up
        )

    async def commit(self, commit: CommitCheckpoint) -> Committed:
        return Committed(state="saved")

    async def announce_many(self, request: UploadMany) -> list[UploadLinks]:
        return [await self.announce(one) for one in request.uploads]

    async def commit_many(self, request: CommitMany) -> list[Committed]:
        return [await self.commit(one) for one in request.commits]


async def _settled(directory: Path, registry: Registry, files: Path) -> Announced:
    """What becomes of a checkpoint in `files`."""
    found: asyncio.Future[Announced] = asyncio.get_running_loop().create_future()

    async def put(*_: object) -> None:
        return None

    uploads = Uploads(
        directory, registry, UploadEvents(put, put, lambda: None, found.set_result, lambda *_: None)
    )
    uploads.add(_announced(0).model_copy(update={"parts": (), "files": None, "directory": files}))
    running = asyncio.create_task(uploads.run())
    try:
        return await found
    finally:
        running.cancel()


async def test_a_worker_that_cannot_upload_tells_the_registry_why(tmp_path: Path) -> None:
    registry = Registry(fails=[Transient("the registry is away", 0.01)])
    settled = await _settled(tmp_path, registry, tmp_path / "gone")
    assert settled.state == "abandoned" and "holds no file" in (settled.reason or "")
    assert [(one.number, one.given_up) for one in registry.heard] == [(1, settled.reason)]


async def test_a_file_name_that_no_message_can_hold_ends_its_checkpoint_and_no_other(tmp_path: Path) -> None:
    (files := tmp_path / "files").mkdir()
    (files / "weights-\udcff.bin").write_bytes(b"1")
    registry = Registry()
    (records := tmp_path / "records").mkdir()
    settled = await _settled(records, registry, files)
    assert settled.state == "abandoned" and "UTF-8" in (settled.reason or "")


async def test_a_notice_that_the_registry_refuses_is_not_repeated(tmp_path: Path) -> None:
    settled = await _settled(tmp_path, Registry(fails=[NotFound("run 7")]), tmp_path / "gone")
    assert settled.state == "abandoned"
