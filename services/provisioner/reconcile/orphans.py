"""Terminate machines of ended instances and machines without a record. See `loop`, and `core/planning/orphans`, which decides."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from services.provisioner import store
from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.launches import Presence, Sighting
from services.provisioner.core.planning.listing_gaps import Absences
from services.provisioner.core.planning.orphans import Bill, ProviderLeftovers, plan_sweep
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.reconcile.driver_calls import Effects, TermContext
from shared.ids import WorkerId

_log = structlog.get_logger()


@dataclass(slots=True)
class Sweep:
    """The sweep of one term. Each leader counts sightings of machines without a record from zero."""

    means: TermContext
    effects: Effects
    _orphans: dict[str, Absences] = field(default_factory=dict)
    _reported: set[WorkerId] = field(default_factory=set)

    async def run(
        self, sightings: Mapping[str, Mapping[WorkerId, Sighting]], live: Collection[Instance], now: datetime
    ) -> None:
        known = {one.worker for one in live}
        unknown = {
            name: {worker: seen for worker, seen in found.items() if worker not in known}
            for name, found in sightings.items()
        }
        workers = [worker for found in unknown.values() for worker in found]
        bills: Mapping[WorkerId, Bill] = {}
        if workers:
            async with self.means.database.system() as connection:
                bills = await store.load_bills(connection, workers)
        for name, found in unknown.items():
            await self._sweep(name, found, bills, now)

    async def _sweep(
        self, name: str, seen: Mapping[WorkerId, Sighting], bills: Mapping[WorkerId, Bill], now: datetime
    ) -> None:
        driver = self.means.drivers[name]
        there = [
            worker
            for worker, one in seen.items()
            if one.presence is not Presence.ENDED and worker not in bills
        ]
        orphans = self._orphans.setdefault(name, Absences())
        orphans.sample(there, (), now)
        self._report(name, there)
        left = ProviderLeftovers(seen, bills, orphans.missed, driver.lateness, driver.terminates_orphans)
        swept = plan_sweep(left, now)
        self.effects.sweep(name, [MachineRef(worker, machine) for worker, machine in swept.terminations])
        if swept.bills:
            async with self.means.units.system() as unit:
                await self.means.lease.guard(unit.connection)
                for worker, bill in swept.bills.items():
                    await store.correct_bill(unit.connection, worker, bill)

    def _report(self, name: str, orphans: Collection[WorkerId]) -> None:
        for worker in set(orphans) - self._reported:
            self._reported.add(worker)
            will_end = self.means.drivers[name].terminates_orphans
            _log.warning("found a machine without a record", worker=worker, provider=name, will_end=will_end)
