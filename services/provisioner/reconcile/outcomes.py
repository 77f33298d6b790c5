"""Record and publish the outcomes of effects under the lease. See `driver_calls`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from services.provisioner import store
from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.launches import Intent, Launched, offer_of
from services.provisioner.core.instances.outcomes import on_launched
from services.provisioner.core.instances.refusals import LaunchRefusal, is_cleared
from services.provisioner.events import changed
from services.provisioner.metrics import MACHINES_LAUNCHED
from shared.bus import Unit, Units
from shared.database.leases import Lease
from shared.ids import SITE

Outcome = Callable[[Instance, datetime], Instance]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Applies outcomes to the current instances."""

    units: Units
    lease: Lease

    async def record(
        self, instances: Sequence[Instance], outcome: Outcome, refusal: LaunchRefusal | None = None
    ) -> None:
        """Record the same outcome for all instances; a refusal pauses further launches of their offer."""
        async with self.units.system() as unit:
            await self.lease.guard(unit.connection)
            await _apply(unit, instances, outcome)
            if refusal is not None and instances:
                await store.save_hold(unit, offer_of(instances[0]), refusal)

    async def refuse(self, one: Instance, refusal: LaunchRefusal) -> None:
        """Pause the offer of a machine."""
        async with self.units.system() as unit:
            await self.lease.guard(unit.connection)
            await store.save_hold(unit, offer_of(one), refusal)

    async def record_launch(self, intent: Intent, missing: Sequence[Instance], launched: Launched) -> None:
        """Record the outcome of a launch, which may be partial."""
        refused = launched.refused
        async with self.units.system() as unit:
            await self.lease.guard(unit.connection)

            def outcome(one: Instance, now: datetime) -> Instance:
                return on_launched(one, launched, now)

            await _apply(unit, missing, outcome)
            if refused is not None:
                await store.save_hold(unit, intent.offer, refused)
            elif launched.placed:
                cleared = partial(is_cleared, has_joined=False)
                await store.clear_holds(unit.connection, intent.offer, cleared, unit.now)
        placed = sum(one.worker in launched.placed for one in missing)
        MACHINES_LAUNCHED.labels(intent.offer.kind.provider).inc(placed)


async def _apply(unit: Unit, instances: Sequence[Instance], outcome: Outcome) -> None:
    for before in await store.lock_live(unit.connection, [one.id for one in instances]):
        after = outcome(before, unit.now)
        if after == before:
            continue
        await store.save_change(unit.connection, before, after)
        if (after.state, after.reason) != (before.state, before.reason):
            unit.emit(changed(after), tenant=SITE)
