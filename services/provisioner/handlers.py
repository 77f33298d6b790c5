"""Handle the scheduler's events: demand and workers. Each handler wakes the reconcile loop after its commit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from services.provisioner import store
from services.provisioner.core.instances.instance import (
    SERVING,
    STARTING,
    Instance,
    InstanceState,
    InstanceTrigger,
    moved,
)
from services.provisioner.core.instances.launches import offer_of
from services.provisioner.core.instances.refusals import Cause, LaunchRefusal, is_cleared
from services.provisioner.events import changed
from shared.bus import Delivery, Unit
from shared.bus.consumer import Handlers as Table
from shared.ids import SITE
from shared.messages.pools import PoolDemand
from shared.messages.workers import WorkerDrained, WorkerJoined, WorkerLost, WorkerRefused

_NOT_JOINED = STARTING & SERVING
_UNFIT: Mapping[str, tuple[Cause, str]] = {
    "version_mismatch": (
        "version",
        "set the platform's version in the provider's `packages` in the providers file, or update the image",
    ),
    "machine_unfit": ("unfit", "correct the kind in the catalogue, or the image's driver"),
}


@dataclass(frozen=True, slots=True)
class SchedulerEventHandlers:
    """One method for each message type."""

    wake: Callable[[], None]

    def events(self) -> Table:
        return {
            WorkerJoined: self.on_workers,
            WorkerDrained: self.on_workers,
            WorkerLost: self.on_workers,
            WorkerRefused: self.on_refused,
            PoolDemand: self.on_demand,
        }

    async def on_demand(self, unit: Unit, batch: list[Delivery[PoolDemand]]) -> None:
        newest = {
            delivery.message.pool: delivery.message
            for delivery in sorted(batch, key=lambda delivery: delivery.message.version)
        }
        for demand in newest.values():
            await store.save_demand(unit.connection, demand, unit.now)
        unit.after_commit(self._wake)

    async def on_workers(
        self, unit: Unit, batch: list[Delivery[WorkerJoined | WorkerDrained | WorkerLost]]
    ) -> None:
        """Record that workers joined, drained or were lost. Older versions of a worker are ignored."""
        workers = {delivery.message.worker for delivery in batch}
        known = {one.worker: one for one in await store.lock_by_workers(unit.connection, workers)}
        for delivery in sorted(batch, key=lambda delivery: delivery.message.version):
            message = delivery.message
            before = known.get(message.worker)
            if before is None or before.is_final or message.version <= before.worker_version:
                continue
            after = _on_worker(before, message, unit.now)
            await store.save_change(unit.connection, before, after)
            if after.state != before.state:
                unit.emit(changed(after), tenant=SITE, cause=delivery)
            known[message.worker] = after
            if isinstance(message, WorkerJoined):
                # Machines of this offer start and join; the loop publishes the cleared hold.
                cleared = partial(is_cleared, has_joined=True)
                await store.clear_holds(unit.connection, offer_of(after), cleared, unit.now)
        unit.after_commit(self._wake)

    async def on_refused(self, unit: Unit, batch: list[Delivery[WorkerRefused]]) -> None:
        """Terminate a refused machine and pause its offer or provider, because equal machines would be refused too."""
        refused = {delivery.message.worker: delivery.message for delivery in batch}
        for before in await store.lock_by_workers(unit.connection, refused):
            if before.state not in _NOT_JOINED:
                continue
            cause, way_out = _UNFIT[refused[before.worker].code]
            reason = f"{refused[before.worker].reason}: {way_out}"
            after = moved(before, InstanceTrigger.FAIL, unit.now, reason)
            await store.save_change(unit.connection, before, after)
            unit.emit(changed(after), tenant=SITE)
            await store.save_hold(unit, offer_of(after), LaunchRefusal(cause, reason))
        unit.after_commit(self._wake)

    async def _wake(self) -> None:
        self.wake()


def _on_worker(
    before: Instance, message: WorkerJoined | WorkerDrained | WorkerLost, now: datetime
) -> Instance:
    match message:
        case WorkerJoined():
            after = moved(before, InstanceTrigger.JOINED, now)
            is_schedulable, silent_since = (
                message.state == "ready" and after.state is InstanceState.READY,
                None,
            )
        case WorkerDrained():
            after, is_schedulable, silent_since = (
                moved(before, InstanceTrigger.EMPTIED, now),
                False,
                before.silent_since,
            )
        case WorkerLost():
            after, is_schedulable, silent_since = before, False, before.silent_since or now
    version = before.version + 1
    return replace(
        after,
        is_schedulable=is_schedulable,
        silent_since=silent_since,
        worker_version=message.version,
        version=version,
    )
