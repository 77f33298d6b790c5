"""A run's checkpoints on their way to the store: small ones together, large ones beside them, and what is told when it fails."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from prometheus_client import REGISTRY

from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import CheckpointId, RunId
from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    Upload,
    UploadLinks,
    UploadMany,
)
from shared.messages.files import FileEntry, FileLink, PartLink
from tests.support.log_capture import captured_events
from tests.support.waiting import eventually
from worker.sandbox.trial_files import TrialFile
from worker.transfer.checkpoints import upload as upload_module
from worker.transfer.checkpoints.batching import BatchingRegistry
from worker.transfer.checkpoints.upload import Announced, UploadEvents
from worker.transfer.checkpoints.uploads import SHARED_BYTES, SMALL_AT_ONCE, SMALL_BYTES, Uploads

RUN = RunId(UUID(int=1))


@dataclass
class Platform:
    """A registry and a store; the test says what they wait for, and what fails."""

    held: set[str] = field(default_factory=set)
    """Contents of files that are not taken yet."""
    failing: str = ""
    reports: asyncio.Event = field(default_factory=asyncio.Event)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    announced: list[int] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    puts: list[str] = field(default_factory=list)
    waits: list[tuple[int, str]] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    """How many checkpoints were announced in each message that held several."""
    is_asked: bool = False
    is_older: bool = False
    """It answers no message that holds several."""
    _manifests: dict[UUID, Upload] = field(default_factory=dict)
    _stored: set[str] = field(default_factory=set)

    async def announce(self, upload: Upload) -> UploadLinks:
        self.is_asked = True
        await self.answering.wait()
        return self._announce(upload)

    def _announce(self, upload: Upload) -> UploadLinks:
        self.announced.append(upload.number)
        self._manifests[upload.checkpoint_id] = upload
        new = [file for file in upload.files if file.sha256 not in self._stored]
        return UploadLinks(files=tuple(map(_link, new)))

    async def commit(self, commit: CommitCheckpoint) -> Committed:
        if not self.reports.is_set():
            return Committed(state="uploading", retry_after_s=0.01, reason="reports are missing")
        upload = self._manifests[commit.checkpoint_id]
        self._stored |= {file.sha256 for file in upload.files}
        self.saved.append(upload.number)
        return Committed(state="saved")

    async def announce_many(self, request: UploadMany) -> list[UploadLinks]:
        self.messages.append(len(request.uploads))
        if self.is_older:
            raise Transient("nobody answers wrq.v1.w-1.upload_many", retry_after_s=0.01)
        return [self._announce(one) for one in request.uploads]

    async def commit_many(self, request: CommitMany) -> list[Committed]:
        if self.is_older:
            raise Transient("nobody answers wrq.v1.w-1.commit_many", retry_after_s=0.01)
        return [await self.commit(one) for one in request.commits]

    async def put(self, link: FileLink, source: TrialFile) -> None:
        if self.failing:
            raise Transient(self.failing, retry_after_s=0.01)
        while Path(source.path).name in self.held:
            await asyncio.sleep(0.01)
        self.puts.append(Path(source.path).name)

    async def put_part(self, part: PartLink, source: TrialFile) -> None:
        raise NotImplementedError


def _link(entry: FileEntry) -> FileLink:
    return FileLink(**entry.model_dump(), url="http://store")


def _upload(number: int) -> Upload:
    files = (FileEntry(path="f", size_bytes=1, sha256=f"{number:064x}"),)
    return Upload(
        run_id=RUN, checkpoint_id=CheckpointId(UUID(int=number)), number=number, step=number, files=files
    )


@pytest.fixture
async def platform() -> Platform:
    made = Platform()
    made.answering.set()
    return made


@asynccontextmanager
async def _uploading(
    platform: Platform, folder: Path, on_settled: Callable[[Announced], None] = lambda _: None
) -> AsyncIterator[Uploads]:
    (folder / "records").mkdir(exist_ok=True)
    events = UploadEvents(
        put=platform.put,
        put_part=platform.put_part,
        flush=lambda: None,
        on_settled=on_settled,
        on_waiting=lambda record, reason: platform.waits.append((record.number, reason)),
    )
    uploads = Uploads(folder / "records", platform, events)
    running = asyncio.create_task(uploads.run())
    try:
        yield uploads
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _add(uploads: Uploads, folder: Path, number: int, **files: bytes) -> None:
    directory = folder / f"checkpoint-{number}"
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content)
    uploads.add(
        Announced(
            run_id=RUN,
            checkpoint_id=CheckpointId(UUID(int=number)),
            number=number,
            step=10 * number,
            directory=directory,
            after_report=0,
            announced_at=SystemClock().now() - timedelta(minutes=1),
        )
    )


async def test_small_checkpoints_are_announced_and_sent_together(platform: Platform, tmp_path: Path) -> None:
    settled: list[Announced] = []
    async with _uploading(platform, tmp_path, settled.append) as uploads:
        for number in range(1, SMALL_AT_ONCE + 2):
            _add(uploads, tmp_path, number, **{f"f{number}": bytes([number]) * 40})
        await eventually(lambda: len(platform.puts) == SMALL_AT_ONCE)
        assert platform.saved == [], "none has waited for another's commit"
        assert sorted(set(platform.announced)) == list(range(1, SMALL_AT_ONCE + 1)), "the first ones first"
        platform.reports.set()
        await eventually(lambda: uploads.is_drained)
    assert sorted(platform.saved) == list(range(1, SMALL_AT_ONCE + 2))
    assert {(one.number, one.state) for one in settled} == {(number, "saved") for number in platform.saved}
    async with _uploading(platform, tmp_path) as again:
        assert again.is_drained and again.announced == SMALL_AT_ONCE + 1


async def test_what_is_asked_while_a_message_is_under_way_goes_together_with_the_next(
    platform: Platform,
) -> None:
    platform.answering.clear()
    registry = BatchingRegistry(platform)
    first = asyncio.create_task(registry.announce(_upload(1)))
    await eventually(lambda: platform.is_asked)
    asking = [first, *(asyncio.create_task(registry.announce(_upload(number))) for number in range(2, 10))]
    await asyncio.sleep(0)
    platform.answering.set()
    answers = await asyncio.gather(*asking)
    assert platform.messages == [8] and platform.announced == list(range(1, 10))
    assert [answer.files[0].sha256 for answer in answers] == [
        _upload(number).files[0].sha256 for number in range(1, 10)
    ]


async def test_a_registry_of_a_version_before_is_asked_for_one_at_a_time(
    platform: Platform, tmp_path: Path
) -> None:
    platform.reports.set()
    platform.is_older = True
    async with _uploading(platform, tmp_path) as uploads:
        for number in (1, 2, 3):
            _add(uploads, tmp_path, number, **{f"f{number}": bytes([number])})
        await eventually(lambda: uploads.is_drained)
    assert sorted(platform.saved) == [1, 2, 3]


async def test_a_large_checkpoint_delays_no_small_one_and_waits_for_none(
    platform: Platform, tmp_path: Path
) -> None:
    platform.reports.set()
    platform.held |= {"large", *(f"slow{number}" for number in range(SMALL_AT_ONCE))}
    async with _uploading(platform, tmp_path) as uploads:
        _add(uploads, tmp_path, 1, large=bytes(SMALL_BYTES + 1))
        await eventually(lambda: platform.announced == [1])
        for number in (2, 3, 4):
            _add(uploads, tmp_path, number, **{f"f{number}": bytes([number])})
        await eventually(lambda: sorted(platform.saved) == [2, 3, 4])
        for number in range(SMALL_AT_ONCE):
            _add(uploads, tmp_path, 5 + number, **{f"slow{number}": bytes([number])})
        platform.held.remove("large")
        await eventually(lambda: 1 in platform.saved)
        platform.held.clear()
        await eventually(lambda: uploads.is_drained)


async def test_a_file_that_several_share_is_sent_once_and_waited_for_once(
    platform: Platform, tmp_path: Path
) -> None:
    platform.reports.set()
    async with _uploading(platform, tmp_path) as uploads:
        for number in (1, 2, 3):
            files = {"frozen": bytes(SHARED_BYTES), f"own{number}": bytes([number])}
            _add(uploads, tmp_path, number, **files)
        await eventually(lambda: uploads.is_drained)
    assert sorted(platform.puts) == ["frozen", "own1", "own2", "own3"]


async def test_uploads_that_fail_are_logged_once_counted_and_told_with_the_reason(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_module, "WARN_AFTER_S", 0.0)
    platform.reports.set()
    platform.failing = "the store answered an upload with status 500"
    with captured_events() as told:
        async with _uploading(platform, tmp_path) as uploads:
            for number in (1, 2):
                _add(uploads, tmp_path, number, **{f"f{number}": bytes([number])})
            await eventually(lambda: _waiting() == 2)
            await eventually(lambda: len(platform.waits) == 2)
            assert _shown("muster_upload_backlog") == 2
            assert (_shown("muster_upload_backlog_age_seconds") or 0) >= 60
            platform.failing = ""
            await eventually(lambda: uploads.is_drained)
            assert _shown("muster_upload_backlog") == _shown("muster_upload_backlog_age_seconds") == 0
    assert sorted(platform.waits) == [
        (number, "the store answered an upload with status 500") for number in (1, 2)
    ]
    assert _waiting() == 0
    assert [line["event"] for line in told] == ["an outage began", "an outage ended"]
    assert told[0]["why"] == "the store answered an upload with status 500"


async def test_a_failure_of_a_moment_is_not_told(platform: Platform, tmp_path: Path) -> None:
    platform.reports.set()
    platform.failing = "away"
    with captured_events() as told:
        async with _uploading(platform, tmp_path) as uploads:
            _add(uploads, tmp_path, 1, f=b"1")
            await eventually(lambda: platform.announced.count(1) >= 2)
            platform.failing = ""
            await eventually(lambda: uploads.is_drained)
    assert (platform.waits, told) == ([], [])


async def test_the_backlog_of_a_run_that_is_dropped_counts_no_more(
    platform: Platform, tmp_path: Path
) -> None:
    platform.failing = "away"
    async with _uploading(platform, tmp_path) as uploads:
        _add(uploads, tmp_path, 1, f=b"1")
        await eventually(lambda: _shown("muster_upload_backlog") == 1)
    assert _shown("muster_upload_backlog") == 0


def _waiting() -> float | None:
    return _shown("muster_uploads_waiting")


def _shown(name: str) -> float | None:
    return REGISTRY.get_sample_value(name)
