"""An elastic trial whose leader changes while it is being resized: what it was asked, and what it has shown, outlives the leader."""

from shared.ids import DEFAULT_TENANT, SITE, TrialId, new_id
from shared.messages.allocations import StepMeasurement
from shared.messages.pools import ClusterView, EditPool, GetCluster
from shared.messages.queue import Explain, GetQueue
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.trial_specs import Signal
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial, runs_on
from tests.support.policies import plain_rules
from tests.support.waiting import eventually


async def rule(around: Platform, elastic: bool) -> None:
    rules = plain_rules(elastic=elastic)
    await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=rules), SITE)

    async def is_ruled() -> bool:
        view: ClusterView = await around.insist(GetCluster())
        return any(pool.pool == POOL and pool.rules.elastic == elastic for pool in view.pools)

    await eventually(is_ruled)


async def are_ready(around: Platform, *workers: FakeWorker) -> bool:
    view: ClusterView = await around.insist(GetCluster())
    ready = {one.worker for one in view.workers if one.state == "ready" and one.slots}
    return ready >= {worker.id for worker in workers}


async def slots_of(around: Platform, trial: TrialId) -> tuple[int, int | None, int | None]:
    page = await around.insist(GetQueue(), DEFAULT_TENANT)
    return next((one.slots, one.min_slots, one.max_slots) for one in page.entries if one.trial_id == trial)


def measure(worker: FakeWorker, step_s: float) -> None:
    for allocation, observed in worker.has.items():
        worker.has[allocation] = observed.model_copy(update={"measured": StepMeasurement(step_s=step_s)})


async def test_a_resize_outlives_the_leader_that_asked_for_it(around: Platform) -> None:
    trial, other = new_trial(), new_trial()
    async with around.scheduler() as leader, around.worker("e1") as one, around.worker("e2") as two:
        await rule(around, elastic=True)
        await eventually(lambda: are_ready(around, one, two))
        await around.want(trial, slots=1, most=2)
        await runs_on((one, two), trial)
        assert await slots_of(around, trial) == (2, 1, 2)
        for worker in (one, two):
            measure(worker, step_s=0.5)
            await worker.say()
        await around.want(other)
        await eventually(lambda: one.wanted(trial) is two.wanted(trial) is Signal.PREEMPT)

        async def is_told() -> bool:
            told = await around.insist(Explain(trial_id=trial), DEFAULT_TENANT)
            return "it was asked to save and resume with 1 slot" in str(told.message)

        await eventually(is_told)
        async with around.scheduler():
            epoch = one.epoch
            await leader.kill()
            await eventually(lambda: one.epoch > epoch and two.epoch > epoch)
            await eventually(is_told)
            for worker in (one, two):
                await worker.exit(trial, acknowledged=Signal.PREEMPT, step=7)
            ended = await around.heard(RunEnded, trial)
            assert (ended.outcome, ended.charged, ended.next) == ("preempted", False, "requeued")
            assert ended.reason == "the trial shrinks from 2 to 1 slots; not counted against max_restarts"
            again, _ = await around.heard(RunGranted, trial, 2), await around.heard(RunGranted, other)
            assert sum(member.slots for member in again.members) == 1
            (row,) = await around.rows(
                "SELECT elastic, restarts, preemptions FROM scheduler.trial WHERE trial = $1", trial
            )
            assert (row["restarts"], row["preemptions"]) == (0, 0)
            assert '"step_s": [[2, 0.5]]' in row["elastic"]
            await eventually(lambda: {trial, other} <= one.running | two.running)
            for worker in (one, two):
                await worker.exit()
            await rule(around, elastic=False)
