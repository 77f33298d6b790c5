"""Free slots that lie on two machines come together through the real service: a run moves for a gang that waits, uncharged, once that pays."""

from itertools import count

from shared.ids import DEFAULT_TENANT, SITE, new_id
from shared.messages.pools import EditPool
from shared.messages.queue import Explain
from shared.messages.runs import RunEnded
from shared.messages.trial_specs import Signal
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.policies import plain_rules
from tests.support.waiting import eventually

SLOTS = 32
"""Of each machine: so many that wait for a second have lost as much as one slot loses in half a minute."""


async def test_a_run_moves_so_that_a_gang_has_a_machine_to_itself(around: Platform) -> None:
    moved, stays, gang = new_trial(), new_trial(), new_trial()
    async with (
        around.scheduler(),
        around.worker("m1", slots=SLOTS) as one,
        around.worker("m2", slots=SLOTS) as other,
    ):
        await eventually(lambda: {"m1", "m2"} <= {joined.worker for joined in around.told(WorkerJoined)})
        rules = plain_rules(order="fifo", defragment=True)
        await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=rules), SITE)
        await around.want(stays, excluded_workers=("m1",))
        await eventually(lambda: other.running == {stays})
        await around.want(moved, excluded_workers=("m2",))
        await eventually(lambda: one.running == {moved})
        await around.want(gang, slots=SLOTS, single_node=True)
        versions = count(2)

        async def is_asked() -> bool:
            # It may go anywhere now; each word of it has the pool planned at once, and not with its next step of 10 s.
            await around.want(moved, version=next(versions))
            return one.wanted(moved) is Signal.PREEMPT

        await eventually(is_asked)
        told = await around.ask(Explain(trial_id=gang), DEFAULT_TENANT)
        assert told.code == "waiting_for_preemption"
        await one.exit(moved, acknowledged=Signal.PREEMPT)
        await eventually(lambda: one.running == {gang} and other.running == {stays, moved})
        ended = await around.heard(RunEnded, moved)
        assert (ended.outcome, ended.charged, ended.next) == ("preempted", False, "requeued")
        for trial in (moved, stays):
            await other.exit(trial)
        await one.exit(gang)
