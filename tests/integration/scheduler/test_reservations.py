"""Slots booked through the real service: in their window they are their holder's alone, under the next leader too."""

from datetime import timedelta

from shared.ids import DEFAULT_TENANT, SITE, TenantId, new_id
from shared.messages.experiments import OperationRefused
from shared.messages.pools import EditPool
from shared.messages.queue import Explain
from shared.messages.reservations import CancelReservation, GetReservations, ReservationView, ReserveSlots
from shared.messages.trial_specs import Signal
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.policies import plain_rules
from tests.support.waiting import eventually

OTHER = TenantId(new_id(CLOCK))


def booking(slots: int) -> ReserveSlots:
    """For another tenant, from now on."""
    now = CLOCK.now()
    return ReserveSlots(
        operation_id=new_id(CLOCK),
        reservation_id=new_id(CLOCK),
        pool=POOL,
        tenant=OTHER,
        slots=slots,
        begins_at=now - timedelta(seconds=1),
        ends_at=now + timedelta(hours=1),
    )


async def booked(around: Platform, tenant: TenantId = SITE) -> tuple[ReservationView, ...]:
    found: tuple[ReservationView, ...] = (await around.ask(GetReservations(), tenant)).items
    return found


async def test_what_is_booked_is_given_back_and_kept_until_it_is_cancelled(around: Platform) -> None:
    async with around.scheduler() as leader, around.worker("booked") as worker:
        await eventually(lambda: around.told(WorkerJoined))
        await around.tell(
            EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=plain_rules(preemption=True)), SITE
        )
        trial, wish = new_trial(), booking(1)
        await around.want(trial)
        await eventually(lambda: worker.running == {trial})
        await around.tell(wish, SITE)
        await eventually(lambda: worker.wanted(trial) is Signal.PREEMPT)
        await worker.exit(trial, acknowledged=Signal.PREEMPT)
        (view,) = await booked(around, OTHER)
        assert (view.reservation_id, view.slots) == (wish.reservation_id, 1)
        assert await booked(around, DEFAULT_TENANT) == ()
        too_large = booking(1)
        await around.tell(too_large, SITE)
        await eventually(lambda: around.told(OperationRefused))
        refused = around.told(OperationRefused)[0]
        assert (refused.operation_id, refused.code) == (too_large.operation_id, "reservation_too_large")
        await leader.kill()
        async with around.scheduler():
            await eventually(around.is_led)
            assert [one.reservation_id for one in await booked(around)] == [wish.reservation_id]
            told = await around.ask(Explain(trial_id=trial), DEFAULT_TENANT)
            assert "1 slot reserved by others until" in told.message
            assert not worker.running
            cancel = CancelReservation(operation_id=new_id(CLOCK), reservation_id=wish.reservation_id)
            await around.tell(cancel, SITE)
            await eventually(lambda: worker.running == {trial})
            await worker.exit(trial)
