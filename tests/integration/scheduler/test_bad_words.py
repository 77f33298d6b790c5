"""What a worker says that cannot be is refused and logged; what was true before stays."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from muster.errors import Rejected
from shared.ids import AllocationId, PoolName, RunId, new_id
from shared.messages.allocations import ObservedAllocation
from shared.messages.pools import GetCluster
from shared.messages.workers import IssueJoin, Join, WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.scheduler.platform import Platform
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def worker(around: Platform) -> AsyncIterator[FakeWorker]:
    async with around.scheduler(), around.worker("q1", slots=2) as found:
        await eventually(lambda: around.told(WorkerJoined))
        yield found


async def refusal_of(worker: FakeWorker, **changes: object) -> str:
    """What is answered when it says the same with some fields changed."""
    said = worker._observed().model_copy(update=changes)
    with pytest.raises(Rejected) as refused:
        await worker.bus.request(said, worker.id)
    return refused.value.code


async def test_slots_that_a_worker_does_not_have_are_refused(around: Platform, worker: FakeWorker) -> None:
    first, second = worker._observed().slots
    third = second.model_copy(update={"id": 2})
    assert await refusal_of(worker, slots=(first, second, third)) == "wrong_slots"
    assert await refusal_of(worker, slots=(first, first)) == "wrong_slots"
    assert await refusal_of(worker, slots=(first, second.model_copy(update={"kind": "cuda"}))) == "wrong_kind"
    assert await refusal_of(worker, pool=PoolName("other"), incarnation=new_id(CLOCK)) == "wrong_pool"
    (seen,) = (await around.ask(GetCluster())).workers
    assert (seen.slots, seen.state) == (2, "ready")
    await eventually(lambda: "rejected a worker's heartbeat" in log_of(around))


async def test_two_of_one_name_are_not_both_heard(around: Platform, worker: FakeWorker) -> None:
    issued = await around.ask(IssueJoin(pool=POOL))
    other = Join(token=issued.token, worker=worker.id, user_key="U" + "A" * 55, pool=POOL, address="a")
    with pytest.raises(Rejected) as refused:
        await around.ask(other)
    assert refused.value.code == "worker_known"
    again = replace(worker, incarnation=new_id(CLOCK), sequence=0)
    await again.bus.request(again._observed(), worker.id)
    assert await refusal_of(worker) == "doubled_worker"
    worker.incarnation, worker.sequence = new_id(CLOCK), 0


async def test_an_allocation_of_a_passed_token_is_dropped_and_logged(
    around: Platform, worker: FakeWorker
) -> None:
    stale = ObservedAllocation(
        allocation_id=AllocationId(new_id(CLOCK)),
        run_id=RunId(new_id(CLOCK)),
        token=7,
        generation=1,
        state="running",
    )
    worker._trials[stale.allocation_id] = new_id(CLOCK)
    worker.has[stale.allocation_id] = stale
    await eventually(lambda: stale.allocation_id not in worker.has)
    await eventually(lambda: "a worker still runs an ended or replaced allocation" in log_of(around))


def log_of(around: Platform) -> str:
    return (around.servers.root / "scheduler.log").read_text()
