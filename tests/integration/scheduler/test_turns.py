"""Two experiments and one slot, through the real service: they take turns, uncharged, and a new leader knows whose turn it was."""

from shared.ids import SITE, TrialId, new_id
from shared.messages.pools import EditPool, PoolRules
from shared.messages.runs import RunEnded
from shared.messages.specs import Signal
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

RULES = PoolRules(order="fifo", quantum_s=0.5)


async def test_two_experiments_take_turns_and_a_new_leader_goes_on(around: Platform) -> None:
    first, second = new_trial(), new_trial()

    async def yields(worker: FakeWorker, trial: TrialId) -> None:
        await eventually(lambda: worker.wanted(trial) is Signal.PREEMPT)
        await worker.exit(trial, acknowledged=Signal.PREEMPT)

    async with around.scheduler() as leader, around.worker("turns") as worker:
        await eventually(lambda: around.told(WorkerJoined))
        await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=RULES), SITE)
        await around.want(first)
        await eventually(lambda: worker.running == {first})
        await around.want(second)
        await yields(worker, first)
        await eventually(lambda: worker.running == {second})
        ended = await around.heard(RunEnded, first)
        assert (ended.outcome, ended.charged, ended.next) == ("preempted", False, "requeued")
        assert ended.reason is not None
        assert "its turn was over" in ended.reason
        await leader.kill()
        async with around.scheduler():
            await yields(worker, second)
            await eventually(lambda: worker.running == {first})
            (row,) = await around.rows(
                "SELECT turned_at, preemptions FROM scheduler.trial WHERE trial = $1", second
            )
            assert row["turned_at"] is not None
            assert row["preemptions"] == 0
            await worker.exit(first)
            await eventually(lambda: worker.running == {second})
            await worker.exit(second)
