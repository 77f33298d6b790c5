"""How many machines of which offers a pool needs, from its definition, demand, machines, holds, and idle times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import LEAVING, STARTING, Instance, InstanceState
from services.provisioner.core.instances.refusals import is_held
from services.provisioner.core.planning.migration import MigrationInputs, plan_migrations
from services.provisioner.core.planning.pool_status import Demand, MonthlyBudget, PoolStatus
from services.provisioner.core.planning.shortage import Shortage
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.core.renting.selection import Capacity, cheapest
from services.provisioner.core.renting.single_node import MissingSlots, cover, full_machines_of, missing_slots
from services.provisioner.core.renting.spreading import has_pending_launch, lacks_capacity, spread
from shared.ids import WorkerId

SETTLES_IN = timedelta(seconds=5)
"""How long a worker that joined after the last demand is assumed to satisfy it."""
LEAD = timedelta(hours=1)
"""No machine is launched that could exceed a budget within this time if all machines keep running."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Machines of one offer, with their indexes in the pool."""

    offer: Offer
    pool_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sizing:
    """Machines to add and remove.

    Attributes:
        launches: Machines to launch.
        drains: Machines to drain while their runs end.
        undrained: Drains to undo.
        withdrawn: Starting machines to cancel.
        moved: Machines to drain by migrating their runs.
        rates: Excess cost per hour of machines; None if it was not computed.
        shortfall: Why fewer machines are launched than needed.
    """

    launches: tuple[Launch, ...] = ()
    drains: tuple[Instance, ...] = ()
    undrained: tuple[Instance, ...] = ()
    withdrawn: tuple[Instance, ...] = ()
    moved: tuple[Instance, ...] = ()
    rates: Mapping[WorkerId, float] | None = None
    shortage: Shortage = field(default_factory=Shortage)
    shortfall: str | None = None


def plan_size(spec: PoolSpec, status: PoolStatus, now: datetime) -> Sizing:
    """Decide which machines to add to a pool and which to drain.

    The minimum, the waiting demand and the reserve are launched within the bounds; machines above the minimum that
    were idle too long are drained. While demand may still grow, only machines that it already fills are launched.
    Undoing a drain comes before launching. The most expensive machines are drained first, then the newest.
    """
    live = status.live
    staying = [one for one in live if one.state not in LEAVING]
    missing = _missing(spec, status, now)
    below = min(spec.minimum, spec.maximum) - len(staying)
    shortage = status.shortage.sampled(missing.slots, now)
    if missing.slots > 0 and below <= 0 and shortage.may_grow(spec.batching_window, now):
        ahead = full_machines_of(missing, _offers(spec, status, now), spec.order)
        return replace(_grow(spec, status, (0, ahead), now), shortage=shortage)
    if below > 0 or (missing.slots > 0 and not _is_full(spec, staying)):
        return _grow(spec, status, (below, missing), now)
    excess = len(staying) - spec.maximum
    withdrawn = [one for one in reversed(staying) if one.state in STARTING][: max(0, excess)]
    too_many = _choose_leaving(spec, status, [one for one in staying if one not in withdrawn])
    idle = _idle_too_long(spec, status, [one for one in staying if one not in too_many], now)
    spare = len(staying) - len(withdrawn) - spec.minimum
    return Sizing(
        drains=(*too_many, *idle)[: max(0, spare)],
        withdrawn=tuple(withdrawn),
        shortfall=_too_large(spec, status.demand),
    )


def with_migrations(spec: PoolSpec, status: PoolStatus, sizing: Sizing, now: datetime) -> Sizing:
    """Add migrations to cheaper machines. Nothing is migrated while requests wait or below the minimum."""
    if not spec.migrates_runs or status.loads is None:
        return sizing
    room, _ = _room(spec, status)
    offers = _offers(spec, status, now)
    migrations = plan_migrations(
        spec, MigrationInputs(status.live, status.loads, status.wasted, offers, room)
    )
    demand = status.demand
    if demand.waiting or demand.soon or sizing.launches or sizing.undrained or sizing.withdrawn:
        return replace(sizing, rates=migrations.rates)
    staying = sum(one.state not in LEAVING for one in status.live)
    moved = migrations.due[: max(0, staying - spec.minimum)]
    # Idle machines may be the target of the migration.
    drains = () if moved else sizing.drains
    launches = _launches(status.live, migrations.launches)
    return replace(sizing, launches=launches, drains=drains, moved=moved, rates=migrations.rates)


def _grow(spec: PoolSpec, status: PoolStatus, needs: tuple[int, MissingSlots], now: datetime) -> Sizing:
    """Undo drains, then launch the machines below the minimum and those that cover the missing slots."""
    live, (below, missing) = status.live, needs
    slots = missing.slots
    staying = sum(one.state not in LEAVING for one in live)
    back: list[Instance] = []
    for one in reversed(live):
        if (
            one.state is InstanceState.DRAINING
            and (slots > 0 or below > 0)
            and staying + len(back) < spec.maximum
        ):
            back.append(one)
            slots, below = slots - one.slots, below - 1
    room, limit = _room(spec, status)
    offers = _offers(spec, status, now)
    machines = _choose(spec, status, (missing.after(one.slots for one in back), back), (offers, room))
    full, room = room, room.minus(machines)
    for _ in range(below - len(machines)):
        one_more = cheapest(
            [offer for offer in offers if room.fits(offer) and _may_be(spec, status, offer, machines)],
            spec.order,
        )
        if one_more is not None:
            machines.append(one_more)
            room = room.minus([one_more])
    launched = sum(offer.kind.slots for offer in machines)
    is_short = launched < slots or len(machines) < below
    if spec.order == "cheapest" and lacks_capacity(spec.offers, status.holds, now):
        machines = [one for one in spread(machines, offers, full) if not has_pending_launch(one, live)]
    return Sizing(
        launches=_launches(live, machines),
        undrained=tuple(back),
        shortfall=_why_short(offers, room, limit) if is_short else _too_large(spec, status.demand),
    )


def _offers(spec: PoolSpec, status: PoolStatus, now: datetime) -> list[Offer]:
    """Return the offers that are not paused."""
    return [offer for offer in spec.offers if not is_held(offer, status.holds, now)]


def _is_full(spec: PoolSpec, staying: Sequence[Instance]) -> bool:
    slots = sum(one.slots for one in staying)
    return len(staying) >= spec.maximum or (spec.maximum_slots is not None and slots >= spec.maximum_slots)


def _asked(spec: PoolSpec, status: PoolStatus) -> int:
    """Return the slots needed in addition to the existing ones, with the reserve."""
    demand, idle = status.demand, status.demand.idle
    if demand.received_at is None:
        idle = sum(
            one.slots for one in status.live if one.state is InstanceState.READY and one.is_schedulable
        )
    if demand.kind not in (None, spec.kind):
        return max(0, spec.reserve_slots - idle)
    return demand.waiting + max(0, demand.soon + spec.reserve_slots - idle)


def _missing(spec: PoolSpec, status: PoolStatus, now: datetime) -> MissingSlots:
    """Return the needed slots that no machine will bring yet."""
    demand = status.demand
    sizes = demand.single_node if demand.waiting and demand.kind in (None, spec.kind) else ()
    asked = missing_slots(_asked(spec, status), sizes, spec.slots_per_instance)
    return asked.after(one.slots for one in status.live if _is_coming(one, demand, now))


def _is_coming(one: Instance, demand: Demand, now: datetime) -> bool:
    """Whether its slots are not in the demand yet, but will be."""
    if one.state in STARTING:
        return True
    if one.state is not InstanceState.READY:
        return False
    is_fresh = now - one.since < SETTLES_IN
    return is_fresh and (
        not one.is_schedulable or demand.received_at is None or demand.received_at < one.since
    )


def _room(spec: PoolSpec, status: PoolStatus) -> tuple[Capacity, MonthlyBudget | None]:
    """Return the capacity to add, and the tightest budget. Draining machines count until they have ended."""
    live = status.live
    paid = sum(one.price_per_hour for one in live)
    lead_h = LEAD.total_seconds() / 3600.0
    tightest = min(status.budgets, key=lambda budget: budget.limit - budget.spent, default=None)
    price = inf if tightest is None else (tightest.limit - tightest.spent) / lead_h - paid
    slots = inf if spec.maximum_slots is None else spec.maximum_slots - sum(one.slots for one in live)
    return Capacity(max(0, spec.maximum - len(live)), max(0, slots), max(0.0, price)), tightest


def _choose(
    spec: PoolSpec,
    status: PoolStatus,
    wanted: tuple[MissingSlots, Sequence[Instance]],
    have: tuple[Sequence[Offer], Capacity],
) -> list[Offer]:
    """Return machines for the missing slots: first those that must be on demand, then the cheapest."""
    (missing, back), (offers, room) = wanted, have
    if not missing.slots:
        return []
    staying = [*(one for one in status.live if one.state not in LEAVING), *back]
    firm = sum(one.slots for one in staying if one.purchase == "on_demand")
    total = sum(one.slots for one in staying) + missing.slots
    must = missing.first(max(0, spec.spot.least_on_demand(total) - firm))
    on_demand = [offer for offer in offers if offer.purchase == "on_demand"]
    chosen = cover(must, on_demand, room, spec.order) if must.slots else []
    # Slots that need on-demand machines and found none are not taken from spot machines.
    rest = missing.after(_slots_of(must, chosen))
    allowed = offers if _may_fall_back(spec) else [offer for offer in offers if offer.purchase == "spot"]
    for one in cover(rest, allowed, room.minus(chosen), spec.order):
        # If too few on-demand machines are available, the spot share holds and the pool stays short.
        if _may_be(spec, status, one, chosen):
            chosen.append(one)
    return chosen


def _slots_of(must: MissingSlots, chosen: Sequence[Offer]) -> list[int]:
    left = must.after(offer.kind.slots for offer in chosen)
    return [*(offer.kind.slots for offer in chosen), *left.single_node, left.anywhere]


def _may_fall_back(spec: PoolSpec) -> bool:
    return spec.spot.falls_back or all(offer.purchase == "on_demand" for offer in spec.offers)


def _may_be(spec: PoolSpec, status: PoolStatus, offer: Offer, chosen: Sequence[Offer]) -> bool:
    """Whether one more machine of the offer meets the spot limits."""
    if offer.purchase == "on_demand":
        return True
    staying = [one for one in status.live if one.state not in LEAVING]
    firm = sum(one.slots for one in staying if one.purchase == "on_demand")
    firm += sum(one.kind.slots for one in chosen if one.purchase == "on_demand")
    total = sum(one.slots for one in staying) + sum(one.kind.slots for one in (*chosen, offer))
    return firm >= spec.spot.least_on_demand(total)


def _why_short(offers: Sequence[Offer], room: Capacity, budget: MonthlyBudget | None) -> str | None:
    """Return the reason for a shortfall, except for bounds and holds, which are shown separately."""
    fitting = [offer for offer in offers if room.machines > 0 and offer.kind.slots <= room.slots]
    if not fitting:
        return None
    if budget is not None and not any(room.fits(offer) for offer in fitting):
        spent = f"{budget.spent:.2f} of {budget.limit:.2f} is spent"
        return f"{budget.label}: {spent}, and one more machine could exceed it within the hour"
    return "every machine available now would exceed the pool's limits on spot machines"


def _too_large(spec: PoolSpec, demand: Demand) -> str | None:
    most = spec.slots_per_instance
    if demand.largest <= most or demand.kind not in (None, spec.kind):
        return None
    return (
        f"a trial needs {demand.largest} slots on one machine, but the pool's largest machine kind has {most}"
    )


def _idle_too_long(
    spec: PoolSpec, status: PoolStatus, staying: Sequence[Instance], now: datetime
) -> list[Instance]:
    """Return idle machines to drain: those that take no more work, then the most expensive per slot, keeping the reserve."""
    demand = status.demand
    is_wanted = demand.soon or (demand.waiting and demand.kind in (None, spec.kind))
    idle = [
        one
        for one in reversed(staying)
        if one.state is InstanceState.READY and one.silent_since is None and one.worker in status.idle_since
    ]
    left = sum(one.slots for one in idle if one.is_schedulable)
    leaving = []
    for one in sorted(idle, key=lambda one: (one.is_schedulable, -one.price_per_hour / one.slots)):
        after = left - one.slots if one.is_schedulable else left
        may_go = not one.is_schedulable or (not is_wanted and after >= spec.reserve_slots)
        if may_go and now - status.idle_since[one.worker] >= spec.idle_timeout:
            leaving.append(one)
            left = after
    return leaving


def _choose_leaving(spec: PoolSpec, status: PoolStatus, staying: Sequence[Instance]) -> list[Instance]:
    """Return machines above the maximum, idle ones first."""
    ready = [one for one in reversed(staying) if one.state is InstanceState.READY]
    machines, slots = len(staying) - spec.maximum, 0
    if spec.maximum_slots is not None:
        slots = sum(one.slots for one in staying) - spec.maximum_slots
    leaving = []
    for one in sorted(ready, key=lambda one: one.worker not in status.idle_since):
        if machines > 0 or slots > 0:
            leaving.append(one)
            machines, slots = machines - 1, slots - one.slots
    return leaving


def _launches(live: Sequence[Instance], machines: Sequence[Offer]) -> tuple[Launch, ...]:
    """Group machines into one launch per offer, with the lowest free indexes."""
    taken = {one.pool_index for one in live}
    free = (pool_index for pool_index in range(len(live) + len(machines)) if pool_index not in taken)
    pool_indexes: dict[Offer, list[int]] = {}
    for offer in machines:
        pool_indexes.setdefault(offer, []).append(next(free))
    return tuple(Launch(offer, tuple(numbers)) for offer, numbers in pool_indexes.items())
