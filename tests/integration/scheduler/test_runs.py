"""One scheduler, fake workers: grants, ends, restarts, gangs, joining, draining."""

from collections.abc import AsyncIterator

import pytest

from muster.errors import NotFound, Rejected
from shared.ids import DEFAULT_TENANT, SITE, PoolName, TenantId, WorkerId, new_id
from shared.messages.pools import GetCluster, PoolDemand
from shared.messages.queue import EditExperiment, Explain, GetQueue, RequestClosed, ValidatePlacement
from shared.messages.runs import GetAllocation, RunEnded, RunGranted
from shared.messages.trial_specs import DesiredState, Signal
from shared.messages.workers import (
    DrainWorker,
    GetWorkerKey,
    IssueJoin,
    Join,
    WorkerDrained,
    WorkerJoined,
    WorkerRefused,
)
from shared.version import platform_version
from tests.integration.scheduler.fake_worker import CLOCK, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial, runs_on
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def workers(around: Platform) -> AsyncIterator[list[FakeWorker]]:
    async with (
        around.scheduler(),
        around.worker("r1") as one,
        around.worker("r2") as other,
    ):
        await eventually(lambda: len(around.told(WorkerJoined)) >= 2)
        yield [one, other]


async def test_a_trial_runs_ends_and_its_request_closes_once(
    around: Platform, workers: list[FakeWorker]
) -> None:
    trial = new_trial()
    await around.want(trial, decide_at=3.0)
    await eventually(lambda: any(trial in worker.running for worker in workers))
    (worker,) = [worker for worker in workers if trial in worker.running]
    granted = await around.heard(RunGranted, trial)
    assert (granted.number, granted.members[0].worker, granted.members[0].slot_ids) == (1, worker.id, (0,))
    facts = await around.ask(GetAllocation(run_id=granted.run_id))
    assert (facts.trial_id, facts.token, facts.members, facts.stale) == (
        trial,
        granted.token,
        (worker.id,),
        False,
    )
    assert facts.holders == (worker.id,)
    told = await around.ask(Explain(trial_id=trial), DEFAULT_TENANT)
    assert told.state == "running"
    await worker.exit(trial, validations=4, checkpoints=0, step=9)
    await around.once((trial,), RunEnded, RequestClosed)
    ended, closed = await around.heard(RunEnded, trial), await around.heard(RequestClosed, trial)
    assert (ended.outcome, ended.validations, ended.next) == ("completed", 4, "closed")
    assert (closed.outcome, closed.runs) == ("completed", 1)
    await eventually(lambda: not worker.has)
    facts = await around.ask(GetAllocation(run_id=granted.run_id))
    assert (facts.members, facts.holders) == ((worker.id,), ())


async def test_a_failed_run_is_restarted_until_restarts_are_used_up(
    around: Platform, workers: list[FakeWorker]
) -> None:
    trial = new_trial()
    await around.want(trial, max_restarts=1)
    for number in (1, 2):
        await around.heard(RunGranted, trial, number)
        await eventually(lambda: any(trial in worker.running for worker in workers))
        for worker in workers:
            await worker.exit(trial, exit_code=1, fault="user")
    await eventually(lambda: around.told(RequestClosed, trial))
    assert [(one.charged, one.restarts, one.next) for one in around.told(RunEnded, trial)] == [
        (True, 1, "requeued"),
        (False, 1, "closed"),
    ]
    assert around.told(RequestClosed, trial)[0].outcome == "failed"


async def test_a_gang_spans_both_workers_and_learns_its_rendezvous(
    around: Platform, workers: list[FakeWorker]
) -> None:
    trial = new_trial()
    await around.want(trial, slots=2)
    await eventually(lambda: all(trial in worker.running for worker in workers))
    granted = await around.heard(RunGranted, trial)
    assert {member.worker for member in granted.members} == {"r1", "r2"}
    follower = next(worker for worker in workers if worker.id != granted.members[0].worker)

    def told_where() -> list[str | None]:
        return [one.rendezvous for one in follower.last_set.allocations] if follower.last_set else []

    await eventually(lambda: told_where() == [f"127.0.0.1:{granted.token}"])
    first, *others = workers
    assert set((await around.ask(GetAllocation(run_id=granted.run_id))).holders) == {"r1", "r2"}
    await first.exit(trial)

    async def holders() -> tuple[str, ...]:
        return tuple((await around.ask(GetAllocation(run_id=granted.run_id))).holders)

    async def only_the_others_hold_it() -> bool:
        return await holders() in ((others[0].id,), ())

    await eventually(only_the_others_hold_it)
    for worker in others:
        await worker.exit(trial)
    await eventually(lambda: around.told(RequestClosed, trial))
    assert await holders() == ()


async def test_newer_wishes_reach_the_running_allocation(around: Platform, workers: list[FakeWorker]) -> None:
    trial = new_trial()
    await around.want(trial, version=1, decide_at=1.0)
    await eventually(lambda: any(trial in worker.running for worker in workers))
    (worker,) = [worker for worker in workers if trial in worker.running]
    await around.want(trial, version=2, decide_at=3.0)
    await eventually(lambda: any(one.decide_at == 3.0 for one in worker.has.values()))
    await around.want(trial, DesiredState.PARK, version=3)
    await eventually(lambda: worker.wanted(trial) is Signal.PAUSE)
    await worker.exit(trial, acknowledged=Signal.PAUSE)
    await eventually(lambda: around.told(RequestClosed, trial))
    await around.want(trial, version=4, request=2)
    await eventually(lambda: any(trial in worker.running for worker in workers))
    for worker in workers:
        await worker.exit(trial)
    await eventually(lambda: len(around.told(RequestClosed, trial)) == 2)
    assert [one.outcome for one in around.told(RequestClosed, trial)] == ["parked", "completed"]


async def test_waiting_requests_say_why_and_ask_for_machines(
    around: Platform, workers: list[FakeWorker]
) -> None:
    first, second, gang = new_trial(), new_trial(), new_trial()
    await around.want(first)
    await around.want(second)
    await eventually(lambda: sum(len(worker.running) for worker in workers) == 2)
    await around.want(gang, slots=2)
    await eventually(lambda: around.told(PoolDemand)[-1].waiting_slots == 2)
    told = await around.ask(Explain(trial_id=gang), DEFAULT_TENANT)
    why = "waiting for 2 slots; 0 of 2 slots free in pool default; 0 requests ahead"
    turns = "running trials yield to requests with lower usage after 600 s and a first checkpoint"
    assert (told.code, told.message) == ("waiting_for_slots", f"{why}; {turns}")
    page = await around.ask(GetQueue(limit=2), DEFAULT_TENANT)
    rest = await around.ask(GetQueue(limit=2, after=page.next), DEFAULT_TENANT)
    assert [entry.state for entry in (*page.entries, *rest.entries)] == ["running", "running", "waiting"]
    foreign = await around.ask(GetQueue(), TenantId(new_id(CLOCK)))
    assert foreign.entries == ()
    view = await around.ask(GetCluster())
    assert (view.pools[0].slots, view.pools[0].used_slots, view.pools[0].waiting_slots) == (2, 2, 2)
    await around.want(gang, DesiredState.CANCEL, version=2)
    await eventually(lambda: around.told(RequestClosed, gang))
    assert [(one.outcome, one.runs) for one in around.told(RequestClosed, gang)] == [("cancelled", 0)]
    for worker in workers:
        await worker.exit()
    await eventually(lambda: around.told(RequestClosed, second) and around.told(RequestClosed, first))


async def test_what_can_never_be_placed_is_refused_with_the_place(
    around: Platform, workers: list[FakeWorker]
) -> None:
    with pytest.raises(Rejected) as unknown:
        await around.ask(ValidatePlacement(pool=PoolName("gpus"), min_slots=1, max_slots=1))
    assert (unknown.value.code, unknown.value.place) == ("pool_unknown", "resources.resource_pool")
    with pytest.raises(Rejected) as priority:
        await around.ask(ValidatePlacement(pool=PoolName("default"), min_slots=1, max_slots=1, priority=100))
    assert priority.value.code == "bad_priority"
    many = await around.ask(ValidatePlacement(pool=PoolName("default"), min_slots=5, max_slots=5))
    assert "a trial needs 5 slots; pool default can have 2" in many.warnings[0]


async def test_an_edit_changes_the_place_in_the_queue(around: Platform, workers: list[FakeWorker]) -> None:
    blocker, early, late = new_trial(), new_trial(), new_trial()
    await around.want(blocker, slots=2)
    await eventually(lambda: all(blocker in worker.running for worker in workers))
    await around.want(early, slots=2)
    await around.want(late, slots=2)
    await eventually(lambda: around.told(PoolDemand)[-1].waiting_slots == 4)
    await around.tell(EditExperiment(operation_id=new_id(CLOCK), experiment_id=late, priority=10))

    async def is_edited() -> bool:
        page = await around.ask(GetQueue(), DEFAULT_TENANT)
        return [entry.priority for entry in page.entries if entry.trial_id == late] == [10]

    await eventually(is_edited)
    for worker in workers:
        await worker.exit(blocker)
    await eventually(lambda: all(late in worker.running for worker in workers))
    for trial in (late, early):
        await runs_on(workers, trial)
        for worker in workers:
            await worker.exit(trial)
    await eventually(lambda: around.told(RequestClosed, early))


async def test_a_join_token_admits_one_worker_once(around: Platform, workers: list[FakeWorker]) -> None:
    issued = await around.ask(IssueJoin(pool=PoolName("default")))
    key = "U" + "A" * 55
    join = Join(
        token=issued.token, worker=WorkerId("x1"), user_key=key, pool=PoolName("default"), address="a"
    )
    assert (await around.ask(join)).worker == "x1"
    assert (await around.ask(join)).worker == "x1", "a lost answer may be asked for again"
    with pytest.raises(Rejected) as used:
        await around.ask(join.model_copy(update={"worker": WorkerId("x2")}))
    assert used.value.code == "bad_join_token"
    with pytest.raises(Rejected) as wrong:
        await around.ask(join.model_copy(update={"token": "guess"}))
    assert wrong.value.code == "bad_join_token"
    assert (await around.ask(GetWorkerKey(worker=WorkerId("x1")))).user_key == key
    with pytest.raises(NotFound):
        await around.ask(GetWorkerKey(worker=WorkerId("nobody")))
    stored = await around.rows("SELECT hash FROM scheduler.join_token WHERE used_by = 'x1'")
    assert issued.token.encode() not in bytes(stored[0]["hash"])


async def test_a_worker_of_another_version_is_refused_and_who_rented_its_machine_is_told(
    around: Platform, workers: list[FakeWorker]
) -> None:
    issued = await around.ask(IssueJoin(pool=PoolName("default")))
    join = Join(
        token=issued.token, worker=WorkerId("old"), user_key="U" + "B" * 55, pool=PoolName("default"),
        address="a", version="99.0.1",
    )  # fmt: skip
    with pytest.raises(Rejected, match=r"the worker runs muster-platform 99\.0\.1") as refused:
        await around.ask(join)
    assert refused.value.code == "version_mismatch"
    await eventually(lambda: [one.worker for one in around.told(WorkerRefused)] == ["old"])
    with pytest.raises(Rejected):
        await around.ask(join.model_copy(update={"token": "guess", "worker": WorkerId("other")}))
    repaired = join.model_copy(update={"version": platform_version()})
    with pytest.raises(Rejected, match="4 GPUs were found"):
        await around.ask(repaired.model_copy(update={"trouble": "4 GPUs were found"}))
    assert (await around.ask(repaired)).worker == "old", (
        "the same token serves once the right one is installed"
    )
    await eventually(lambda: len(around.told(WorkerRefused)) == 2)
    told = [(one.worker, one.code) for one in around.told(WorkerRefused)]
    assert told == [("old", "version_mismatch"), ("old", "machine_unfit")], "a guessed token tells nobody"


async def test_a_drained_worker_is_said_to_be_empty_only_when_it_is(
    around: Platform, workers: list[FakeWorker]
) -> None:
    trial = new_trial()
    async with around.worker("d1") as draining:
        await eventually(lambda: any(one.worker == "d1" for one in around.told(WorkerJoined)))
        for worker in workers:
            await around.tell(DrainWorker(operation_id=new_id(CLOCK), worker=worker.id), SITE)
        await eventually(lambda: {one.worker for one in around.told(WorkerDrained)} == {"r1", "r2"})
        await around.want(trial)
        await eventually(lambda: trial in draining.running)
        await around.tell(DrainWorker(operation_id=new_id(CLOCK), worker=draining.id), SITE)
        await eventually(
            lambda: [one for one in around.told(WorkerJoined) if one.state == "draining"][-1].worker == "d1"
        )
        assert "d1" not in {one.worker for one in around.told(WorkerDrained)}
        pool = (await around.ask(GetCluster())).pools[0]
        assert (pool.workers, pool.slots, pool.used_slots) == (1, 1, 1), "what it holds is used until it ends"
        await draining.exit(trial)
        await eventually(lambda: "d1" in {one.worker for one in around.told(WorkerDrained)})


async def test_a_drain_can_be_taken_back(around: Platform, workers: list[FakeWorker]) -> None:
    trial = new_trial()
    await around.want(trial, slots=2)
    for worker in workers:
        await around.tell(DrainWorker(operation_id=new_id(CLOCK), worker=worker.id, undo=True), SITE)
    await eventually(lambda: all(trial in worker.running for worker in workers))
    for worker in workers:
        await worker.exit(trial)


async def test_an_end_says_whether_it_was_forced(around: Platform, workers: list[FakeWorker]) -> None:
    forced, willing = new_trial(), new_trial()
    for trial in (forced, willing):
        await around.want(trial)
    await eventually(lambda: {forced, willing} <= {t for worker in workers for t in worker.running})
    for worker in workers:
        await worker.exit(forced, exit_code=-9, forced=True)
        await worker.exit(willing)
    assert (await around.heard(RunEnded, forced)).forced
    assert not (await around.heard(RunEnded, willing)).forced
