"""Ended runs with uploads on their way: who may cut them short, and what is told of the delay."""

from typing import Any

import pytest

from shared.ids import SITE, CheckpointId, PoolName, WorkerId, derived_id, new_id
from shared.messages.base import Event
from shared.messages.checkpoints import Upload
from shared.messages.trial_specs import DesiredState
from shared.messages.workers import WorkerJoined, WorkerLost, WorkerRemoved
from tests.integration.registry.messages import ended, wanted
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import FILES, events, happened, manifest, save, send
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def announce(around: Platform, run: Run, number: int = 1) -> CheckpointId:
    """A checkpoint that its worker has announced, and not sent."""
    checkpoint = CheckpointId(new_id(CLOCK))
    await around.upload(run, checkpoint, number, 10 * number, manifest(FILES))
    return checkpoint


async def told(around: Platform, run: Run, why: str) -> bool:
    """Whether the newest word on the run's delay has this reason."""
    delays = await around.emitted("checkpoint.delayed", run_id=run.id)
    return bool(delays) and why in delays[-1]["reason"]


async def say(around: Platform, kind: type[Event], worker: str, version: int) -> None:
    """What the scheduler says of a worker."""
    own: dict[type[Event], dict[str, Any]] = {
        WorkerJoined: {"address": "127.0.0.1", "slots": (), "state": "ready", "joined_at": CLOCK.now()},
        WorkerLost: {"reason": "not heard", "lost_at": CLOCK.now()},
        WorkerRemoved: {"reason": "its instance is gone", "removed_at": CLOCK.now()},
    }
    known = {"worker": WorkerId(worker), "version": version, "pool": PoolName("default")}
    await around.publish("scheduler", kind(**known, **own[kind]), SITE)


async def test_a_checkpoint_of_a_finished_trial_is_taken_however_long_the_store_was_away(
    around: Platform,
) -> None:
    run = around.scheduler.grant()
    checkpoint = await announce(around, run)
    await around.publish("searcher", wanted(run, upload_timeout_s=1.0))
    store = around.servers.s3
    store.kill()
    await around.publish("scheduler", ended(run, checkpoints=1, ago_s=3600.0))
    await eventually(
        lambda: told(around, run, "1 checkpoint is not stored yet: the object store does not respond")
    )
    around.servers.restart(store)
    await eventually(lambda: told(around, run, "worker w-1 still has to upload"))
    links = await around.upload(run, checkpoint, 1, 10, manifest(FILES))
    await send(links.files, FILES)

    async def is_saved() -> bool:
        return (await around.commit(run, checkpoint)).state == "saved"

    await eventually(is_saved)
    assert await events(around, "abandoned", checkpoint) == 0


async def test_a_next_run_that_waits_cuts_uploads_short_after_the_timeout(around: Platform) -> None:
    run = around.scheduler.grant()
    kept = await save(around, run, 1, 10)
    announced = await announce(around, run, 2)
    await around.publish("searcher", wanted(run, upload_timeout_s=1.0))
    await around.publish("scheduler", ended(run, checkpoints=3, is_requeued=True))
    await eventually(lambda: happened(around, "abandoned", announced))
    never_heard_of = derived_id(run.id, "checkpoint", 3)
    await eventually(lambda: happened(around, "abandoned", never_heard_of))
    abandoned = await around.emitted("checkpoint.abandoned", run_id=run.id)
    assert sorted(event["number"] for event in abandoned) == [2, 3]
    assert {event["reason"] for event in abandoned} == {
        "the trial's next run waited 1 s for it while the object store responded (upload_timeout)"
    }
    assert await events(around, "abandoned", kept) == 0
    assert (await around.commit(run, announced)).state == "abandoned"


async def test_only_a_next_run_that_is_wanted_waits(around: Platform) -> None:
    paused, resumed = around.scheduler.grant(), around.scheduler.grant()
    held, given_up = await announce(around, paused), await announce(around, resumed)
    parked = {"version": 2, "desired_state": DesiredState.PARK}
    for run in (paused, resumed):
        message = wanted(run, upload_timeout_s=0.5)
        await around.publish("searcher", message.model_copy(update=parked))
        await around.publish("scheduler", ended(run, "parked", checkpoints=1))
    again = wanted(resumed, upload_timeout_s=0.5).model_copy(update={"version": 3, "request": 2})
    await around.publish("searcher", again)
    await eventually(lambda: happened(around, "abandoned", given_up))
    assert await events(around, "abandoned", held) == 0


async def test_a_worker_that_is_lost_for_good_takes_what_it_has_not_sent_with_it(around: Platform) -> None:
    runs = [around.scheduler.grant(members=(WorkerId(worker),)) for worker in ("w-1", "w-2")]
    checkpoint = await announce(around, runs[0])
    for run in runs:
        await around.publish("scheduler", ended(run, checkpoints=1))
    await say(around, WorkerLost, "w-2", 1)
    await eventually(lambda: told(around, runs[1], "worker w-2 does not respond"))
    await say(around, WorkerJoined, "w-2", 2)
    await eventually(lambda: told(around, runs[1], "worker w-2 still has to upload"))
    await say(around, WorkerRemoved, "w-2", 4)
    await say(around, WorkerLost, "w-2", 3)
    never_sent = derived_id(runs[1].id, "checkpoint", 1)
    await eventually(lambda: happened(around, "abandoned", never_sent))
    (event,) = await around.emitted("checkpoint.abandoned", run_id=runs[1].id)
    assert event["reason"] == "worker w-2 is lost for good and had not uploaded it"
    assert await events(around, "abandoned", checkpoint) == 0, "another worker has it"
    await say(around, WorkerJoined, "w-2", 5)


async def test_a_worker_says_that_it_cannot_upload(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    notice = Upload(
        run_id=run.id, checkpoint_id=checkpoint, number=1, step=10, files=(), given_up="its folder is gone"
    )
    for _ in range(2):
        assert (await around.insist(notice)).state == "abandoned"
    (event,) = await around.emitted("checkpoint.abandoned", run_id=run.id)
    assert event["reason"] == "worker w-1 cannot upload the checkpoint: its folder is gone"
    saved = await save(around, run, 2, 20)
    late = notice.model_copy(update={"checkpoint_id": saved, "number": 2, "step": 20})
    assert (await around.insist(late)).state == "saved"
