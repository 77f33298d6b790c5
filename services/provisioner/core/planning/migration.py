"""Which busy machines give way to cheaper ones. What a machine costs beyond what the same work would cost elsewhere is added up; once that comes to
what it costs to move the work, it is moved: the rule of ski rental (Karlin, Manasse, Rudolph, Sleator 1988), which never pays more than twice
what would have been right, and needs no forecast. So work goes back to spot machines when they are to be had again, leaves large machines
when most of them is idle, and follows prices where they differ for long."""

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
"""For how long a run that is moved is taken to do nothing: it saves, is granted slots elsewhere, and restores."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Migrations:
    """`rates`: what each machine costs per hour beyond what its work would cost elsewhere, where that is anything. `due`: machines that are to be emptied
    now, since there is room for what runs there. `launches`: machines for what is to be moved and has no room yet."""

    rates: Mapping[WorkerId, float] = field(default_factory=dict)
    due: tuple[Instance, ...] = ()
    launches: tuple[Offer, ...] = ()


class ExcessCost:
    """Money that each machine has cost too much; advanced by samples alone, forgotten when a machine costs what it should."""

    def __init__(self) -> None:
        self._spent: dict[WorkerId, float] = {}
        self._sampled_at: datetime | None = None

    @property
    def spent(self) -> Mapping[WorkerId, float]:
        return self._spent

    def sample(self, rates: Mapping[WorkerId, float], now: datetime) -> None:
        """Takes in what is wasted per hour now, and was since the last sample."""
        span_h = 0.0 if self._sampled_at is None else (now - self._sampled_at) / _HOUR
        self._sampled_at = now
        self._spent = {worker: self._spent.get(worker, 0.0) + rate * span_h for worker, rate in rates.items()}


@dataclass(frozen=True, slots=True)
class MigrationInputs:
    """What moving looks at: machines, what runs on them, what each has wasted, and offers that may be had now within `room`."""

    live: Sequence[Instance]
    loads: Mapping[WorkerId, WorkerLoad]
    wasted: Mapping[WorkerId, float]
    offers: Sequence[Offer]
    room: Capacity
    covers: dict[tuple[bool, tuple[int, ...]], list[Offer] | None] = field(default_factory=dict)
    """The cheapest for pieces of these sizes, by whether spot machines may be taken: most machines carry alike."""


@dataclass(slots=True)
class _Place:
    """Free slots of a machine; `tenant`: who alone may have them, None where nobody is there. `is_promised`: others
    will come here in this pass."""

    worker: WorkerId
    free: int
    tenant: TenantId | None
    is_idle: bool
    is_coming: bool = False
    is_promised: bool = False

    def copied(self) -> "_Place":
        """Another of it; by hand, since this is most of what a pass costs."""
        return _Place(self.worker, self.free, self.tenant, self.is_idle, self.is_coming, self.is_promised)


def plan_migrations(spec: PoolSpec, ground: MigrationInputs) -> Migrations:
    """Who has wasted most goes first. Runs that stand on several machines are left where they are."""
    if not spec.moves_runs:
        return Migrations()
    busy = [one for one in ground.live if _is_movable(one, ground.loads)]
    places = _left_by_leaving(ground, _places(ground))
    found = {one.worker: _alternative(spec, one, ground, places) for one in busy}
    rates = {one.worker: _hour(one, spec.offers) - sum(map(_price, found[one.worker])) for one in busy}
    rates = {worker: rate for worker, rate in rates.items() if rate > 0}
    wasteful = [one for one in busy if ground.wasted.get(one.worker, 0.0) > 0 and one.worker in rates]
    wasteful.sort(key=lambda one: (-ground.wasted[one.worker], one.seat))
    due: list[Instance] = []
    launches: list[Offer] = []
    for one in wasteful:
        if any(place.is_promised for place in places if place.worker == one.worker):
            continue
        machines = _alternative(spec, one, ground, places)
        rate = _hour(one, spec.offers) - sum(map(_price, machines))
        if rate <= 0 or ground.wasted[one.worker] < _move_costs(one, spec.offers, machines):
            continue
        places = [place for place in places if place.worker != one.worker]
        load = ground.loads[one.worker]
        if (left := _placed(load, places, lambda place: not place.is_coming)) is not None:
            places = left
            due.append(one)
        elif (left := _placed(load, places, lambda place: True)) is not None:
            places = left
        elif all(ground.room.less(launches).fits(offer) for offer in machines):
            launches += machines
    return Migrations(rates, tuple(due), tuple(launches))


def _is_movable(one: Instance, loads: Mapping[WorkerId, WorkerLoad]) -> bool:
    load = loads.get(one.worker)
    if load is None or one.state is not InstanceState.READY or not one.is_open:
        return False
    return bool(load.pieces) and not load.gangs and sum(load.pieces) >= load.used_slots


def _places(ground: MigrationInputs) -> list[_Place]:
    """Free slots, and those of machines that are coming."""
    places = []
    for one in ground.live:
        load = ground.loads.get(one.worker)
        if one.state in STARTING:
            places.append(_Place(one.worker, one.slots, None, is_idle=True, is_coming=True))
        elif one.state is InstanceState.READY and one.is_open and load is not None:
            free = one.slots - load.used_slots
            places.append(_Place(one.worker, free, load.tenant, is_idle=not load.used_slots))
    return places


def _left_by_leaving(ground: MigrationInputs, places: list[_Place]) -> list[_Place]:
    """What is left once those have found room that were asked to move before, as far as they will."""
    for one in ground.live:
        load = ground.loads.get(one.worker)
        if one.state is InstanceState.DRAINING and load is not None:
            places = _placed(load, places, lambda place: not place.is_coming) or places
    return places


def _alternative(
    spec: PoolSpec, one: Instance, ground: MigrationInputs, places: Sequence[_Place]
) -> list[Offer]:
    """The cheapest machines for what runs there and finds no room beside others' work, which costs nothing more; the machine itself where nothing else
    is to be had."""
    load = ground.loads[one.worker]
    left = list(load.pieces)
    least = min(left)
    mine = [
        place.copied()
        for place in places
        if place.free >= least and place.worker != one.worker and not place.is_idle
    ]
    for piece in sorted(load.pieces, reverse=True):
        place = _best(piece, load.tenant, mine)
        if place is not None:
            place.free -= piece
            left.remove(piece)
    if not left:
        return []
    key = _may_be_spot(spec, one, ground.live), tuple(left)
    if key not in ground.covers:
        ground.covers[key] = _cover(key, ground.offers)
    machines = ground.covers[key]
    return _own_offer(one, spec.offers) if machines is None else machines


def _cover(wanted: tuple[bool, tuple[int, ...]], offers: Sequence[Offer]) -> list[Offer] | None:
    """None where the pieces do not fit on what covers their sum."""
    may_be_spot, pieces = wanted
    slots = sum(pieces)
    allowed = [offer for offer in offers if may_be_spot or offer.purchase == "on_demand"]
    machines = choose_machines(Need(slots, max(pieces)), allowed, Capacity(slots))
    places = [_Place(WorkerId(""), offer.kind.slots, None, is_idle=False) for offer in machines]
    return machines if _placed(WorkerLoad(slots, pieces), places, lambda place: True) is not None else None


def _placed(load: WorkerLoad, places: Sequence[_Place], may: Callable[[_Place], bool]) -> list[_Place] | None:
    """The places with all the pieces in them, the largest first, each where it fits best; None where they do not fit."""
    left = [place.copied() for place in places]
    for piece in sorted(load.pieces, reverse=True):
        place = _best(piece, load.tenant, [place for place in left if may(place)])
        if place is None:
            return None
        place.free, place.tenant = place.free - piece, load.tenant
        place.is_idle, place.is_promised = False, True
    return left


def _best(piece: int, tenant: TenantId | None, places: Iterable[_Place]) -> _Place | None:
    fitting = [place for place in places if place.free >= piece and place.tenant in (None, tenant)]
    return min(fitting, key=attrgetter("free"), default=None)


def _may_be_spot(spec: PoolSpec, one: Instance, live: Sequence[Instance]) -> bool:
    """Whether the pool keeps its rule of spot machines with one in its place."""
    if one.purchase == "spot" or spec.spot == SpotRule():
        return True
    staying = [other for other in live if other.state not in LEAVING]
    firm = sum(other.slots for other in staying if other.purchase == "on_demand") - one.slots
    return firm >= spec.spot.least_on_demand(sum(other.slots for other in staying))


def _own_offer(one: Instance, offers: Sequence[Offer]) -> list[Offer]:
    mine = (one.machine_kind, one.zone, one.purchase)
    return [offer for offer in offers if mine == (offer.kind.name, offer.zone, offer.purchase)][:1]


def _hour(one: Instance, offers: Sequence[Offer]) -> float:
    """Of what stands, at the price of now."""
    own = _own_offer(one, offers)
    return _price(own[0]) if own else one.price_per_hour


def _price(offer: Offer) -> float:
    """Of an hour, with what is lost each time such a machine is taken back."""
    return (offer.price_per_hour or 0.0) * (1.0 + _boot_h(offer) * offer.taken_per_hour)


def _move_costs(one: Instance, offers: Sequence[Offer], machines: Iterable[Offer]) -> float:
    """Both are paid for while nothing runs: the new ones while they boot too."""
    still_h = MIGRATION_DOWNTIME / _HOUR
    new = sum((offer.price_per_hour or 0.0) * (_boot_h(offer) + still_h) for offer in machines)
    return new + _hour(one, offers) * still_h


def _boot_h(offer: Offer) -> float:
    return offer.kind.boot_s / 3600.0
