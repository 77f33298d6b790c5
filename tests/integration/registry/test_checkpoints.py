"""Checkpoints: nothing exists before its manifest is committed, and then it stays as it was committed."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from muster.errors import Conflict, NotFound, Rejected
from shared.ids import CheckpointId, new_id
from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    ManifestPage,
    Upload,
    UploadLinks,
    UploadMany,
)
from shared.messages.files import FileEntry
from shared.messages.runs import RunOutcome
from shared.objects import LEAST_PART_BYTES
from tests.integration.registry.messages import ended, granted, report
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK
from tests.integration.registry.uploads import (
    FILES,
    events,
    fetch,
    fresh,
    happened,
    listed,
    manifest,
    save,
    send,
    tried,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
BOTH_WAYS = pytest.mark.parametrize("bound", [True, False], ids=["verified by the store", "read back"])


@contextmanager
def frozen(pid: int | None) -> Iterator[None]:
    """A process that stands still."""
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_committing_again_commits_once(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = await save(around, run, 1, 10)
    assert (await around.commit(run, checkpoint)).state == "saved"
    assert (await around.upload(run, checkpoint, 1, 10, manifest(FILES))) == UploadLinks(
        files=(), state="saved"
    )
    assert await events(around, "saved", checkpoint) == 1


@BOTH_WAYS
async def test_a_corrupted_upload_is_refused_until_it_fits(around: Platform, bound: bool) -> None:
    files = fresh()
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=bound)
    flipped = files | {"model.pt": b"Weights" * 100}
    statuses = await tried(links.files, flipped)
    assert statuses.count(400) == bound
    refused = await around.commit(run, checkpoint)
    assert refused.state == "uploading"
    assert "model.pt" in (refused.reason or "")
    assert ("announced" if bound else "SHA-256") in (refused.reason or "")
    assert (await around.restore(around.scheduler.grant())).checkpoint_id is None
    again = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=bound)
    await send(again.files, files)
    assert (await around.commit(run, checkpoint)).state == "saved"


@BOTH_WAYS
async def test_what_never_fits_is_corrupt_and_the_one_before_is_restored(
    around: Platform, bound: bool
) -> None:
    files = fresh()
    run = around.scheduler.grant()
    good = await save(around, run, 1, 10)
    bad = CheckpointId(new_id(CLOCK))
    for attempt in range(3):
        links = await around.upload(run, bad, 2, 20, manifest(files), bound=bound)
        await tried(links.files, files | {"small": b"as it was not announced"})
        committed = await around.commit(run, bad)
        assert committed.state == ("corrupt" if attempt == 2 else "uploading")
    assert await events(around, "corrupt", bad) == 1
    assert (await around.restore(around.scheduler.grant(run))).checkpoint_id == good


@BOTH_WAYS
async def test_what_was_committed_cannot_be_overwritten_by_whoever_holds_its_urls(
    around: Platform, bound: bool
) -> None:
    files = fresh()
    run = around.scheduler.grant()
    files["large.bin"] = os.urandom(500_000)
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=bound)
    await send(links.files, files)
    assert (await around.commit(run, checkpoint)).state == "saved"
    statuses = await tried(links.files, dict.fromkeys(files, b"evil"))
    assert set(statuses) == {400 if bound else 200}
    assert (await around.commit(run, checkpoint)).state == "saved"
    restored = await around.restore(around.scheduler.grant(run))
    assert {link.path: await fetch(link.url) for link in restored.files} == files


async def test_a_file_that_is_too_large_for_one_request_goes_in_parts_and_comes_in_one(
    around: Platform,
) -> None:
    run, checkpoint = around.scheduler.grant(), CheckpointId(new_id(CLOCK))
    files = {"large.bin": os.urandom(LEAST_PART_BYTES + 700), "small.bin": os.urandom(700)}
    links = await around.upload(run, checkpoint, 1, 10, manifest(files))
    assert {link.path: len(link.parts) for link in links.files} == {"large.bin": 2, "small.bin": 0}
    await send(links.files, files)
    assert (await around.commit(run, checkpoint)).state == "saved"
    restored = await around.restore(around.scheduler.grant(run))
    assert {link.path: await fetch(link.url) for link in restored.files} == files

    async def is_tidy() -> bool:
        return not await listed(around, f"incoming/{run.tenant}/{checkpoint}/")

    await eventually(is_tidy)


@BOTH_WAYS
async def test_a_manifest_sent_anew_while_the_old_one_is_verified_is_not_committed_by_that(
    around: Platform, bound: bool
) -> None:
    """The store stands still while the old upload is read, so that the new one is certainly earlier than the verdict on it."""
    files = fresh()
    run, checkpoint = around.scheduler.grant(), CheckpointId(new_id(CLOCK))
    state = "SELECT version FROM registry.checkpoint WHERE id = $1 AND state = 'committing'"
    links = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=bound)
    await send(links.files, files)
    with frozen(around.servers.s3.pid):
        request = CommitCheckpoint(run_id=run.id, checkpoint_id=checkpoint, after_report=0)
        verifying = asyncio.create_task(around.send(request))
        await eventually(lambda: around.rows(state, checkpoint))
        # What another replica does when the manifest comes anew and is to be committed there.
        await around.rows("UPDATE registry.checkpoint SET version = version + 2 WHERE id = $1", checkpoint)
    refused = await verifying
    assert refused.state == "uploading" and "replaced" in refused.reason
    assert await events(around, "saved", checkpoint) == 0


@BOTH_WAYS
async def test_a_missing_file_is_refused(around: Platform, bound: bool) -> None:
    files = fresh()
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=bound)
    await send(tuple(link for link in links.files if link.path != "model.pt"), files)
    refused = await around.commit(run, checkpoint)
    assert refused.state == "uploading"
    assert (refused.reason or "").startswith("model.pt: not in the store")


async def test_a_manifest_that_comes_in_pages_is_committed_whole(around: Platform) -> None:
    run, checkpoint, files = around.scheduler.grant(), CheckpointId(new_id(CLOCK)), fresh()
    entries = manifest(files)

    async def announce(*some: FileEntry) -> UploadLinks:
        page = ManifestPage(files=some)
        told = {"run_id": run.id, "checkpoint_id": checkpoint, "number": 1, "step": 10}
        links = await around.insist(Upload(**told, files=(), takes_headers=True, first=0, page=page))
        assert isinstance(links, UploadLinks)
        return links

    async def commit() -> Committed:
        request = CommitCheckpoint(run_id=run.id, checkpoint_id=checkpoint, after_report=0, files=len(files))
        committed = await around.insist(request)
        assert isinstance(committed, Committed)
        return committed

    first = await announce(*entries[:2])
    assert [link.path for link in first.files] == [entry.path for entry in entries[:2]]
    await send(first.files, files)
    early = await commit()
    assert early.state == "uploading" and "2 of the checkpoint's 3 files" in (early.reason or "")
    with pytest.raises(Rejected) as clash:
        await announce(entries[2].model_copy(update={"path": f"{entries[0].path}/below"}))
    assert clash.value.code == "path_twice"
    second = await announce(*entries[2:])
    assert [link.path for link in second.files] == [entries[2].path]
    await announce(*entries[:2])  # a late repeat takes nothing away
    await send(second.files, files)
    assert (await commit()).state == "saved"
    restored = await around.restore(around.scheduler.grant(run))
    assert {link.path: await fetch(link.url) for link in restored.files} == files


async def test_a_manifest_waits_for_the_reports_before_it(around: Platform) -> None:
    files = fresh()
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 1, 10, manifest(files))
    await send(links.files, files)
    early = await around.commit(run, checkpoint, after_report=2)
    assert early.state == "uploading"
    assert early.retry_after_s is not None
    await around.reports(run, 1, [report(9, loss=1.0), report(10, loss=1.0)])
    assert (await around.commit(run, checkpoint, after_report=2)).state == "saved"


async def test_a_stale_token_commits_nothing(around: Platform) -> None:
    files = fresh()
    old = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(old, checkpoint, 1, 10, manifest(files))
    await send(links.files, files)
    new = around.scheduler.grant(old)
    assert (await around.restore(new)).checkpoint_id is None
    refused = await around.commit(old, checkpoint)
    assert refused.state == "abandoned"
    assert await events(around, "abandoned", checkpoint) == 1
    assert await events(around, "saved", checkpoint) == 0
    later = await around.upload(old, CheckpointId(new_id(CLOCK)), 2, 20, manifest(files))
    assert (later.files, later.state) == ((), "abandoned")
    with pytest.raises(Rejected) as error:
        await around.restore(old)
    assert error.value.code == "stale_token"


async def test_a_lost_run_s_checkpoints_are_given_up_at_once(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    await around.upload(run, checkpoint, 1, 10, manifest(FILES))
    await around.publish("scheduler", ended(run, "lost", checkpoints=None))
    await eventually(lambda: happened(around, "abandoned", checkpoint))
    assert (await around.commit(run, checkpoint)).state == "abandoned"


@pytest.mark.parametrize("outcome", ["preempted", "stopped", "killed"])
async def test_a_forced_run_s_late_commit_is_refused_whatever_its_end_is_called(
    around: Platform, outcome: RunOutcome
) -> None:
    run = around.scheduler.grant()
    kept, late = await save(around, run, 1, 10), CheckpointId(new_id(CLOCK))
    links = await around.upload(run, late, 2, 20, manifest(FILES))
    await send(links.files, FILES)
    await around.publish("scheduler", ended(run, outcome, checkpoints=2, forced=True))
    await eventually(lambda: happened(around, "abandoned", late))
    assert (await around.commit(run, late)).state == "abandoned"
    never_seen = await around.upload(run, CheckpointId(new_id(CLOCK)), 3, 30, manifest(FILES))
    assert (never_seen.files, never_seen.state) == ((), "abandoned")
    assert (await around.restore(around.scheduler.grant(run))).checkpoint_id == kept


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ([], "manifest_length"),
        ([FileEntry(path="../escape", size_bytes=1, sha256="0" * 64)], "path_unsafe"),
        ([FileEntry(path="a", size_bytes=1, sha256="nonsense")], "manifest_entry"),
    ],
)
async def test_a_manifest_that_cannot_be_is_refused(
    around: Platform, files: list[FileEntry], code: str
) -> None:
    run = around.scheduler.grant()
    with pytest.raises(Rejected) as error:
        await around.upload(run, CheckpointId(new_id(CLOCK)), 1, 1, files)
    assert error.value.code == code


async def test_another_run_s_checkpoint_is_out_of_reach(around: Platform) -> None:
    mine, foreign = around.scheduler.grant(), around.scheduler.grant()
    checkpoint = await save(around, foreign, 1, 10)
    with pytest.raises(Conflict):
        await around.upload(mine, checkpoint, 1, 10, manifest(FILES))
    with pytest.raises(NotFound):
        await around.commit(mine, checkpoint)


async def test_a_grant_known_by_its_event_needs_no_other(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.publish("scheduler", granted(run))
    assert (await around.reports(run, 1, [report(1, loss=1.0)])).next == 2


async def test_checkpoints_that_are_announced_and_committed_together_are_each_judged_alone(
    around: Platform,
) -> None:
    run = around.scheduler.grant()
    ids = [CheckpointId(new_id(CLOCK)) for _ in range(3)]
    contents = [{"a": b"one"}, {"a": b"two"}, {"a": b"three"}]
    uploads = tuple(
        Upload(
            run_id=run.id, checkpoint_id=checkpoint, number=number, step=number, files=tuple(manifest(files))
        )
        for number, (checkpoint, files) in enumerate(zip(ids, contents, strict=True), start=1)
    )
    answers = (await around.insist(UploadMany(run_id=run.id, uploads=uploads))).answers
    assert [one.state for one in answers] == ["uploading"] * 3
    await send(answers[0].files, contents[0])
    await send(answers[2].files, contents[2])
    commits = CommitMany(
        run_id=run.id,
        commits=tuple(CommitCheckpoint(run_id=run.id, checkpoint_id=one, after_report=0) for one in ids),
    )
    for _ in range(2):
        committed = (await around.insist(commits)).answers
        assert [one.state for one in committed] == ["saved", "uploading", "saved"]
        assert "a: " in (committed[1].reason or "")
    await send(answers[1].files, contents[1])
    assert [one.state for one in (await around.insist(commits)).answers] == ["saved"] * 3
    for checkpoint in ids:
        await eventually(lambda one=checkpoint: happened(around, "saved", one))  # type: ignore[misc]
        assert await events(around, "saved", checkpoint) == 1
    other = around.scheduler.grant()
    with pytest.raises(Rejected, match="one run"):
        await around.insist(UploadMany(run_id=other.id, uploads=uploads))
