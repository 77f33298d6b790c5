"""A simulated cloud: machines boot after a while or fail to, and spot machines are reclaimed with a short
notice. `provisioner` orders and ends machines; repeated orders of an existing machine change nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random
from typing import Protocol

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import WorkerId
from simulator.event_queue import EventQueue
from simulator.machines.machine_slots import Kind

_RUNNING = Sighting(Presence.RUNNING)
NOTICE_MS = 120_000
"""From the notice that a spot machine will be reclaimed until it is removed."""


@dataclass(frozen=True, slots=True)
class CloudBehavior:
    """The behavior of a cloud.

    Attributes:
        boot_ms: From an order to a worker's first heartbeat, varied by `boot_spread` (a fraction of it).
        failing: Fraction of the calls that are refused, and of the machines that never boot.
        taken_every_ms: Mean time until a machine is reclaimed; None: never.
    """

    boot_ms: int = 60_000
    boot_spread: float = 0.2
    failing: float = 0.0
    taken_every_ms: int | None = None

    def prices(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        """Return the pool with the current prices of its offers."""
        return spec

    def has(self, offer: Offer, machines: int, now_ms: int) -> int:
        """Return how many of `machines` machines are available now."""
        return machines

    def life_ms(self, offer: Offer, now_ms: int, chance: Random) -> int | None:
        """Return how long a machine that boots now is kept before it is reclaimed; None: as long as it is wanted."""
        if self.taken_every_ms is None:
            return None
        return round(chance.expovariate(1 / self.taken_every_ms))


class CloudProvider(Protocol):
    """The interface of a cloud to the provisioner."""

    taken: int
    """Number of reclaimed machines."""
    lateness: timedelta
    """The maximum delay of `observe`."""

    def prices(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        """Return the pool with the current prices of its offers."""

    def observe(self) -> Mapping[WorkerId, Sighting]: ...

    def launch(self, intent: Intent) -> Launched: ...

    def terminate(self, worker: WorkerId, machine: str | None = None) -> None:
        """Raises Transient."""


class Cloud:
    """All rented machines.

    Args:
        switch_on: Called when a machine has booted. `switch_off`: when it is removed. `notice`: when it will be
            reclaimed.
    """

    def __init__(
        self,
        agenda: EventQueue,
        manners: CloudBehavior,
        chance: Random,
        switch_on: Callable[[Kind], object],
        switch_off: Callable[[WorkerId], None],
        notice: Callable[[WorkerId], None],
    ) -> None:
        self.taken = 0
        self.lateness = timedelta()
        self._agenda, self._manners, self._chance = agenda, manners, chance
        self._switch_on, self._switch_off, self._notice = switch_on, switch_off, notice
        self._machines: dict[WorkerId, bool] = {}
        """Rented machines, and whether they have booted."""

    def prices(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        return self._manners.prices(spec, now_ms)

    def observe(self) -> Mapping[WorkerId, Sighting]:
        return dict.fromkeys(self._machines, _RUNNING)

    def launch(self, intent: Intent) -> Launched:
        """Start the requested machines as far as available; existing ones stay as they are."""
        missing = [one for one in intent.instances if one.worker not in self._machines]
        placed = {one.worker: None for one in intent.instances if one.worker in self._machines}
        count = self._manners.has(intent.offer, len(missing), self._agenda.now_ms)
        if missing and self._chance.random() < self._manners.failing:
            count = 0
        for one in missing[:count]:
            self._order(one, intent.offer)
            placed[one.worker] = None
        if count == len(missing):
            return Launched(placed)
        return Launched(placed, LaunchRefusal("no_capacity", "the cloud has no such machine"))

    def _order(self, one: Instance, offer: Offer) -> None:
        self._machines[one.worker] = False
        if self._chance.random() < self._manners.failing:
            return
        spread = self._manners.boot_spread
        boot_ms = round(self._manners.boot_ms * self._chance.uniform(1 - spread, 1 + spread))
        kind = Kind(one.worker, one.pool, one.slots, one.kind)
        self._agenda.after(boot_ms, partial(self._boot, kind, offer))

    def terminate(self, worker: WorkerId, machine: str | None = None) -> None:
        if self._machines.pop(worker, False):
            self._switch_off(worker)

    def _boot(self, kind: Kind, offer: Offer) -> None:
        if kind.name not in self._machines:
            return
        self._machines[kind.name] = True
        self._switch_on(kind)
        life_ms = self._manners.life_ms(offer, self._agenda.now_ms, self._chance)
        if life_ms is not None:
            self._agenda.after(life_ms, partial(self._reclaim, kind.name))

    def _reclaim(self, worker: WorkerId) -> None:
        if worker in self._machines:
            self.taken += 1
            self._notice(worker)
            self._agenda.after(NOTICE_MS, partial(self.terminate, worker))
