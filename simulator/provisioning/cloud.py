"""Where machines are rented: they boot after a while or fail to, and spot machines are taken back with a short notice. Neighbour:
`provisioner`, which orders and ends them; whatever is asked again for a machine that stands changes nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

from services.provisioner.core.instance import Instance
from services.provisioner.core.intents import Presence
from shared.ids import WorkerId
from simulator.agenda import Agenda
from simulator.machines.local import Kind

NOTICE_MS = 120_000
"""From the word that a spot machine will be taken back until it is gone."""


@dataclass(frozen=True, slots=True)
class Offer:
    """How a cloud treats its customers.

    Attributes:
        boot_ms: From an order to a worker that speaks, `boot_spread` more or less (a share of it).
        failing: Share of the orders that are refused, and of the machines that never boot.
        taken_every_ms: Mean time until a machine is taken back; None: never.
    """

    boot_ms: int = 60_000
    boot_spread: float = 0.2
    failing: float = 0.0
    taken_every_ms: int | None = None


class Unavailable(Exception):
    """There is no such machine now."""


class Cloud:
    """All machines that are rented.

    Args:
        switch_on: A machine has booted; `switch_off`: it is no more; `notice`: it is about to be taken back.
    """

    def __init__(
        self,
        agenda: Agenda,
        offer: Offer,
        chance: Random,
        switch_on: Callable[[Kind], object],
        switch_off: Callable[[WorkerId], None],
        notice: Callable[[WorkerId], None],
    ) -> None:
        self.taken = 0
        self._agenda, self._offer, self._chance = agenda, offer, chance
        self._switch_on, self._switch_off, self._notice = switch_on, switch_off, notice
        self._standing: dict[WorkerId, bool] = {}
        """Machines that are rented, and whether they have booted."""

    def observe(self) -> Mapping[WorkerId, Presence]:
        return dict.fromkeys(self._standing, Presence.RUNNING)

    def launch(self, one: Instance) -> None:
        """Raises Unavailable."""
        if one.worker in self._standing:
            return
        if self._chance.random() < self._offer.failing:
            raise Unavailable
        self._standing[one.worker] = False
        if self._chance.random() < self._offer.failing:
            return
        spread = self._offer.boot_spread
        boot_ms = round(self._offer.boot_ms * self._chance.uniform(1 - spread, 1 + spread))
        self._agenda.after(boot_ms, partial(self._boot, Kind(one.worker, one.pool, one.slots, one.kind)))

    def terminate(self, worker: WorkerId) -> None:
        if self._standing.pop(worker, False):
            self._switch_off(worker)

    def _boot(self, kind: Kind) -> None:
        if kind.name not in self._standing:
            return
        self._standing[kind.name] = True
        self._switch_on(kind)
        every_ms = self._offer.taken_every_ms
        if every_ms is not None:
            self._agenda.after(
                round(self._chance.expovariate(1 / every_ms)), partial(self._take_back, kind.name)
            )

    def _take_back(self, worker: WorkerId) -> None:
        if worker in self._standing:
            self.taken += 1
            self._notice(worker)
            self._agenda.after(NOTICE_MS, partial(self.terminate, worker))
