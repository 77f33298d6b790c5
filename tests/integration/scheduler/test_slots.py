"""Single slots are taken out and given back, and the next leader knows of it."""

from shared.ids import SITE, WorkerId, new_id
from shared.messages.experiments import OperationRefused
from shared.messages.pools import GetCluster
from shared.messages.runs import RunGranted
from shared.messages.workers import DisableSlot, WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually


async def test_a_disabled_slot_takes_no_work_under_any_leader(around: Platform) -> None:
    async with around.scheduler() as leader, around.worker("s1", slots=2) as worker:
        await eventually(lambda: any(one.worker == "s1" for one in around.told(WorkerJoined)))

        async def tell(slot: int, undo: bool = False) -> DisableSlot:
            wish = DisableSlot(operation_id=new_id(CLOCK), worker=WorkerId("s1"), slot=slot, undo=undo)
            await around.tell(wish, SITE)
            return wish

        async def disabled() -> tuple[int, ...]:
            found = await around.insist(GetCluster())
            return next(one.disabled_slots for one in found.workers if one.worker == "s1")

        async def is_disabled() -> bool:
            return await disabled() == (0,)

        await tell(0)
        await eventually(is_disabled)
        wrong = await tell(9)
        await eventually(lambda: around.told(OperationRefused))
        assert (around.told(OperationRefused)[0].operation_id, around.told(OperationRefused)[0].code) == (
            wrong.operation_id,
            "slot_unknown",
        )
        async with around.scheduler():
            await leader.kill()
            await eventually(is_disabled)
            first, second = new_trial(), new_trial()
            await around.want(first)
            assert (await around.heard(RunGranted, first)).members[0].slot_ids == (1,)
            await around.want(second)
            await tell(0, undo=True)
            assert (await around.heard(RunGranted, second)).members[0].slot_ids == (0,)
            for trial in (first, second):
                await worker.exit(trial)
