"""Decide which busy machines to replace with cheaper ones.

The excess cost of a machine over the cheapest alternative for its work is accumulated. Once it reaches the cost of
migrating the work, the work is migrated: the ski-rental rule (Karlin, Manasse, Rudolph, Sleator 1988), which pays at
most twice the optimum and needs no forecast. So work returns to spot machines when they are available again, leaves
large machines that are mostly idle, and follows lasting price differences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import LEAVING, STARTING, Instance, InstanceState
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.renting.pool_spec import PoolSpec, SpotRule
from services.provisioner.core.renting.selection import Capacity, Need, choose_machines
from shared.ids import TenantId, WorkerId

MIGRATION_DOWNTIME = timedelta(minutes=1)
"""Estimated downtime of a migrated run: it saves, is granted slots elsewhere, and restores."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Migrations:
    """Planned migrations.

    Attributes:
        rates: Excess cost per hour of each machine that has any.
        due: Machines to drain now, because there is room for their runs.
        launches: Machines for runs that have no room yet.
    """

    rates: Mapping[WorkerId, float] = field(default_factory=dict)
    due: tuple[Instance, ...] = ()
    launches: tuple[Offer, ...] = ()


class ExcessCost:
    """Accumulated excess cost of each machine; only `sample` changes it. It resets when a machine costs what it should."""

    def __init__(self) -> None:
        self._spent: dict[WorkerId, float] = {}
        self._sampled_at: datetime | None = None

    @property
    def spent(self) -> Mapping[WorkerId, float]:
        return self._spent

    def sample(self, rates: Mapping[WorkerId, float], now: datetime) -> None:
        """Record the present excess cost per hour, which also applies since the last sample."""
        span_h = 0.0 if self._sampled_at is None else (now - self._sampled_at) / _HOUR
        self._sampled_at = now
        self._spent = {worker: self._spent.get(worker, 0.0) + rate * span_h for worker, rate in rates.items()}


@dataclass(frozen=True, slots=True)
class MigrationInputs:
    """Inputs of the decision: machines, their load, their accumulated excess cost, and offers available within `room`."""

    live: Sequence[Instance]
    loads: Mapping[WorkerId, WorkerLoad]
    wasted: Mapping[WorkerId, float]
    offers: Sequence[Offer]
    room: Capacity
    covers: dict[tuple[bool, tuple[int, ...]], list[Offer] | None] = field(default_factory=dict)
    """Cache of the cheapest machines for runs of these sizes, by whether spot machines are allowed; most machines have equal loads."""


@dataclass(slots=True)
class _Vacancy:
    """Free slots of a machine.

    Attributes:
        tenant: The tenant that has them exclusively; None if the machine is empty.
        is_promised: Whether runs will migrate here in this pass.
    """

    worker: WorkerId
    free: int
    tenant: TenantId | None
    is_idle: bool
    is_coming: bool = False
    is_promised: bool = False

    def copied(self) -> "_Vacancy":
        """Return a copy, without `replace`, because copying dominates the cost of a pass."""
        return _Vacancy(self.worker, self.free, self.tenant, self.is_idle, self.is_coming, self.is_promised)


def plan_migrations(spec: PoolSpec, ground: MigrationInputs) -> Migrations:
    """Plan migrations, the largest excess cost first. Runs on several machines stay."""
    if not spec.migrates_runs:
        return Migrations()
    busy = [one for one in ground.live if _is_movable(one, ground.loads)]
    vacancies = _left_by_leaving(ground, _vacancies(ground))
    found = {one.worker: _alternative(spec, one, ground, vacancies) for one in busy}
    rates = {one.worker: _hour(one, spec.offers) - sum(map(_price, found[one.worker])) for one in busy}
    rates = {worker: rate for worker, rate in rates.items() if rate > 0}
    wasteful = [one for one in busy if ground.wasted.get(one.worker, 0.0) > 0 and one.worker in rates]
    wasteful.sort(key=lambda one: (-ground.wasted[one.worker], one.pool_index))
    due: list[Instance] = []
    launches: list[Offer] = []
    for one in wasteful:
        if any(vacancy.is_promised for vacancy in vacancies if vacancy.worker == one.worker):
            continue
        machines = _alternative(spec, one, ground, vacancies)
        rate = _hour(one, spec.offers) - sum(map(_price, machines))
        if rate <= 0 or ground.wasted[one.worker] < _move_costs(one, spec.offers, machines):
            continue
        vacancies = [vacancy for vacancy in vacancies if vacancy.worker != one.worker]
        load = ground.loads[one.worker]
        if (left := _placed(load, vacancies, lambda vacancy: not vacancy.is_coming)) is not None:
            vacancies = left
            due.append(one)
        elif (left := _placed(load, vacancies, lambda vacancy: True)) is not None:
            vacancies = left
        elif all(ground.room.minus(launches).fits(offer) for offer in machines):
            launches += machines
    return Migrations(rates, tuple(due), tuple(launches))


def _is_movable(one: Instance, loads: Mapping[WorkerId, WorkerLoad]) -> bool:
    load = loads.get(one.worker)
    if load is None or one.state is not InstanceState.READY or not one.is_schedulable:
        return False
    return bool(load.run_slots) and not load.gangs and sum(load.run_slots) >= load.used_slots


def _vacancies(ground: MigrationInputs) -> list[_Vacancy]:
    """Free slots of running and starting machines."""
    vacancies = []
    for one in ground.live:
        load = ground.loads.get(one.worker)
        if one.state in STARTING:
            vacancies.append(_Vacancy(one.worker, one.slots, None, is_idle=True, is_coming=True))
        elif one.state is InstanceState.READY and one.is_schedulable and load is not None:
            free = one.slots - load.used_slots
            vacancies.append(_Vacancy(one.worker, free, load.tenant, is_idle=not load.used_slots))
    return vacancies


def _left_by_leaving(ground: MigrationInputs, vacancies: list[_Vacancy]) -> list[_Vacancy]:
    """Return the free slots left after the runs of draining machines have moved, as far as they fit."""
    for one in ground.live:
        load = ground.loads.get(one.worker)
        if one.state is InstanceState.DRAINING and load is not None:
            vacancies = _placed(load, vacancies, lambda vacancy: not vacancy.is_coming) or vacancies
    return vacancies


def _alternative(
    spec: PoolSpec, one: Instance, ground: MigrationInputs, vacancies: Sequence[_Vacancy]
) -> list[Offer]:
    """Return the cheapest machines for the runs that do not fit beside other runs; the machine itself if there is no alternative."""
    load = ground.loads[one.worker]
    left = list(load.run_slots)
    least = min(left)
    mine = [
        vacancy.copied()
        for vacancy in vacancies
        if vacancy.free >= least and vacancy.worker != one.worker and not vacancy.is_idle
    ]
    for slots in sorted(load.run_slots, reverse=True):
        vacancy = _best(slots, load.tenant, mine)
        if vacancy is not None:
            vacancy.free -= slots
            left.remove(slots)
    if not left:
        return []
    key = _may_be_spot(spec, one, ground.live), tuple(left)
    if key not in ground.covers:
        ground.covers[key] = _cover(key, ground.offers)
    machines = ground.covers[key]
    return _own_offer(one, spec.offers) if machines is None else machines


def _cover(wanted: tuple[bool, tuple[int, ...]], offers: Sequence[Offer]) -> list[Offer] | None:
    """Return the cheapest machines for runs of these sizes; None if the sizes do not fit on machines that cover their sum."""
    may_be_spot, run_slots = wanted
    slots = sum(run_slots)
    allowed = [offer for offer in offers if may_be_spot or offer.purchase == "on_demand"]
    machines = choose_machines(Need(slots, max(run_slots)), allowed, Capacity(slots))
    vacancies = [_Vacancy(WorkerId(""), offer.kind.slots, None, is_idle=False) for offer in machines]
    return (
        machines
        if _placed(WorkerLoad(slots, run_slots), vacancies, lambda vacancy: True) is not None
        else None
    )


def _placed(
    load: WorkerLoad, vacancies: Sequence[_Vacancy], may: Callable[[_Vacancy], bool]
) -> list[_Vacancy] | None:
    """Return the free slots after placing all runs, the largest first, each where it fits best; None if they do not fit."""
    left = [vacancy.copied() for vacancy in vacancies]
    for slots in sorted(load.run_slots, reverse=True):
        vacancy = _best(slots, load.tenant, [vacancy for vacancy in left if may(vacancy)])
        if vacancy is None:
            return None
        vacancy.free, vacancy.tenant = vacancy.free - slots, load.tenant
        vacancy.is_idle, vacancy.is_promised = False, True
    return left


def _best(slots: int, tenant: TenantId | None, vacancies: Iterable[_Vacancy]) -> _Vacancy | None:
    fitting = [vacancy for vacancy in vacancies if vacancy.free >= slots and vacancy.tenant in (None, tenant)]
    return min(fitting, key=attrgetter("free"), default=None)


def _may_be_spot(spec: PoolSpec, one: Instance, live: Sequence[Instance]) -> bool:
    """Whether the pool meets its spot limits with a spot machine in its place."""
    if one.purchase == "spot" or spec.spot == SpotRule():
        return True
    staying = [other for other in live if other.state not in LEAVING]
    firm = sum(other.slots for other in staying if other.purchase == "on_demand") - one.slots
    return firm >= spec.spot.least_on_demand(sum(other.slots for other in staying))


def _own_offer(one: Instance, offers: Sequence[Offer]) -> list[Offer]:
    mine = (one.machine_kind, one.zone, one.purchase)
    return [offer for offer in offers if mine == (offer.kind.name, offer.zone, offer.purchase)][:1]


def _hour(one: Instance, offers: Sequence[Offer]) -> float:
    """Return the present hourly price of an existing machine."""
    own = _own_offer(one, offers)
    return _price(own[0]) if own else one.price_per_hour


def _price(offer: Offer) -> float:
    """Return the price of an hour, including the loss from spot interruptions."""
    return (offer.price_per_hour or 0.0) * (1.0 + _boot_h(offer) * offer.interruptions_per_hour)


def _move_costs(one: Instance, offers: Sequence[Offer], machines: Iterable[Offer]) -> float:
    """Return the cost of a migration: old and new machines are paid for while nothing runs, the new ones also while they boot."""
    still_h = MIGRATION_DOWNTIME / _HOUR
    new = sum((offer.price_per_hour or 0.0) * (_boot_h(offer) + still_h) for offer in machines)
    return new + _hour(one, offers) * still_h


def _boot_h(offer: Offer) -> float:
    return offer.kind.boot_s / 3600.0
