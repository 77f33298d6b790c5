"""Attack: a worker that once trained a run asks for the run's code and checkpoints, and uploads to it, after it has left or the run has ended."""

import hashlib
import os
from collections.abc import Awaitable, Callable

import pytest

from muster.errors import Rejected, Transient
from shared.ids import CheckpointId, WorkerId, new_id
from shared.messages.checkpoints import Restore, Restored, Upload, UploadLinks
from shared.messages.files import CodeLink, ConfirmUpload, GetCode, GetUploadUrl
from shared.messages.images import PinImage
from shared.messages.media import MediaTarget, SendMedia
from tests.integration.registry.messages import ended, resized
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import HTTP, fresh, manifest, save
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
CHIEF, MEMBER = WorkerId("w-1"), WorkerId("w-2")
CODE = b"another tenant's code"
DAY_S = 86_400


async def run_with_code(around: Platform) -> Run:
    """A run of two workers with code, which resumes from a checkpoint; both have asked for it, so the registry has cached them."""
    sha256, size_bytes = hashlib.sha256(CODE).hexdigest(), len(CODE)
    target = await around.ask(GetUploadUrl(sha256=sha256, size_bytes=size_bytes))
    if not target.known:
        HTTP.request("PUT", target.url, body=CODE)
        await around.ask(ConfirmUpload(sha256=sha256, size_bytes=size_bytes))
    first = around.scheduler.grant(code_hash=sha256)
    await save(around, first, 1, 10, files=fresh())
    run = around.scheduler.grant(first, code_hash=sha256, members=(CHIEF, MEMBER))
    for worker in (CHIEF, MEMBER):
        assert (await code(around, run, worker)).url
        assert (await restore(around, run, worker)).files
    return run


async def code(around: Platform, run: Run, worker: WorkerId) -> CodeLink:
    link = await around.insist(GetCode(run_id=run.id), worker)
    assert isinstance(link, CodeLink)
    return link


async def restore(around: Platform, run: Run, worker: WorkerId) -> Restored:
    restored = await around.insist(Restore(run_id=run.id), worker)
    assert isinstance(restored, Restored)
    return restored


async def upload(
    around: Platform,
    run: Run,
    worker: WorkerId,
    number: int,
    *parts: WorkerId,
    checkpoint: CheckpointId | None = None,
) -> UploadLinks:
    announcement = Upload(
        run_id=run.id,
        checkpoint_id=checkpoint or CheckpointId(new_id(CLOCK)),
        number=number,
        step=20,
        files=tuple(manifest({f"{worker}.pt": os.urandom(100)})),
        parts=parts,
    )
    links = await around.send(announcement, worker)
    assert isinstance(links, UploadLinks)
    return links


async def media(around: Platform, run: Run, worker: WorkerId) -> MediaTarget:
    body = new_id(CLOCK).bytes
    request = SendMedia(
        run_id=run.id, pack_id=new_id(CLOCK), size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest()
    )
    target = await around.insist(request, worker)
    assert isinstance(target, MediaTarget)
    return target


async def is_refused(request: Awaitable[object]) -> bool:
    try:
        await request
    except Rejected as refused:
        return refused.code == "former_member"
    return False


async def until_refused(ask: Callable[[], Awaitable[object]]) -> None:
    await eventually(lambda: is_refused(ask()))


async def test_a_worker_of_an_ended_run_reads_nothing_of_it(around: Platform) -> None:
    run = await run_with_code(around)
    await around.publish("scheduler", ended(run, checkpoints=1))
    for worker in (CHIEF, MEMBER):
        await until_refused(lambda worker=worker: code(around, run, worker))  # type: ignore[misc]
        assert await is_refused(restore(around, run, worker))


async def test_it_uploads_what_it_still_owes_and_nothing_else(around: Platform) -> None:
    run = await run_with_code(around)
    await around.publish("scheduler", ended(run, checkpoints=1))
    await until_refused(lambda: upload(around, run, CHIEF, 2))
    assert (await upload(around, run, CHIEF, 1)).files, "announced before the end"
    assert (await media(around, run, CHIEF)).url


async def test_media_of_a_run_that_ended_long_ago_are_refused(around: Platform) -> None:
    run = await run_with_code(around)
    await around.publish("scheduler", ended(run, ago_s=DAY_S + 60))
    await until_refused(lambda: media(around, run, MEMBER))


async def test_a_worker_that_left_a_running_gang_gets_no_url(around: Platform) -> None:
    run = await run_with_code(around)
    owed = CheckpointId(new_id(CLOCK))
    await upload(around, run, CHIEF, 1, CHIEF, MEMBER, checkpoint=owed)
    await around.publish("scheduler", resized(run, CHIEF))
    await until_refused(lambda: code(around, run, MEMBER))
    assert await is_refused(restore(around, run, MEMBER))
    with pytest.raises(Transient, match="has left"):
        await upload(around, run, MEMBER, 2)
    assert (await upload(around, run, MEMBER, 1, checkpoint=owed)).files, "rank 0 waits for its part"
    assert (await code(around, run, CHIEF)).url
    assert (await restore(around, run, CHIEF)).files
    assert (await upload(around, run, CHIEF, 2)).files
    assert around.scheduler.runs[run.id] == run, "the scheduler still counts it as a member"


async def test_a_former_worker_does_not_choose_the_image_of_later_runs(around: Platform) -> None:
    run = await run_with_code(around)
    await around.publish("scheduler", resized(run, CHIEF))
    await until_refused(lambda: code(around, run, MEMBER))
    own = PinImage(run_id=run.id, image="ghcr.io/team/train:1", resolved="sha256:" + "e" * 64)
    assert await is_refused(around.insist(own, MEMBER))
    assert (await around.insist(own.model_copy(update={"resolved": None}), CHIEF)).digest is None


async def test_a_worker_that_returns_gets_urls_again(around: Platform) -> None:
    run = await run_with_code(around)
    await around.publish("scheduler", resized(run, CHIEF))
    await until_refused(lambda: code(around, run, MEMBER))
    back = resized(run, CHIEF, MEMBER)
    await around.publish("scheduler", back.model_copy(update={"version": 3, "generation": 3}))

    async def is_back() -> bool:
        return not await is_refused(code(around, run, MEMBER))

    await eventually(is_back)
