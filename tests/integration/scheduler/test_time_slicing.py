"""Two experiments and one slot, through the real service: they take turns, uncharged, and a new leader knows whose turn it was."""

from shared.ids import SITE, TrialId, new_id
from shared.messages.pools import EditPool
from shared.messages.runs import RunEnded
from shared.messages.trial_specs import Signal
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.policies import plain_rules
from tests.support.waiting import eventually

RULES = plain_rules(order="fifo", quantum_s=0.5)


async def test_two_experiments_take_turns_and_a_new_leader_goes_on(around: Platform) -> None:
    first, second = new_trial(), new_trial()

    async def yields(worker: FakeWorker, trial: TrialId) -> None:
        await worker.save(trial)
        await eventually(lambda: worker.wanted(trial) is Signal.PREEMPT)
        await worker.exit(trial, acknowledged=Signal.PREEMPT, checkpoints=0)

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
        assert "its time slice was over" in ended.reason
        await leader.kill()
        async with around.scheduler():
            await yields(worker, second)
            await eventually(lambda: worker.running == {first})
            (row,) = await around.rows(
                "SELECT time_slice_ended_at, preemptions FROM scheduler.trial WHERE trial = $1", second
            )
            assert row["time_slice_ended_at"] is not None
            assert row["preemptions"] == 0
            await worker.exit(first)
            await eventually(lambda: worker.running == {second})
            await worker.exit(second)


async def test_a_trial_that_ignores_the_end_of_its_turn_is_not_asked_again_by_a_new_leader_either(
    around: Platform,
) -> None:
    deaf, other = new_trial(), new_trial()
    async with around.scheduler() as leader, around.worker("deaf") as worker:
        await eventually(lambda: around.told(WorkerJoined))
        await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=RULES), SITE)
        await around.want(deaf)
        await eventually(lambda: worker.running == {deaf})
        await around.want(other)
        await worker.save(deaf)
        await eventually(lambda: worker.wanted(deaf) is Signal.PREEMPT)
        await worker.exit(deaf, forced=True, exit_code=-9, checkpoints=0)
        await eventually(lambda: worker.running == {other})
        ended = await around.heard(RunEnded, deaf)
        assert (ended.outcome, ended.charged, ended.next) == ("preempted", False, "requeued")
        await leader.kill()
        async with around.scheduler():
            (row,) = await around.rows("SELECT ignores_signals FROM scheduler.trial WHERE trial = $1", deaf)
            assert row["ignores_signals"]
            await worker.exit(other)
            await eventually(lambda: worker.running == {deaf})
            await worker.exit(deaf)
