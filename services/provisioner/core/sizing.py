"""How many machines a pool needs: from its policy, the demand, what stands, and who has been idle for how long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from services.provisioner.core.instance import INSTANCE, LEAVING, STARTING, Instance, State, worker_of
from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.specs import SlotKind

SETTLES_IN = timedelta(seconds=5)
"""How long a demand that is older than a worker's joining is taken to be answered by that worker."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a pool may have, and of what."""

    pool: PoolName
    driver: str
    minimum: int
    maximum: int
    slots_per_instance: int
    kind: SlotKind
    idle_timeout: timedelta
    join_timeout: timedelta
    price_per_hour: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def price_per_slot_hour(self) -> float | None:
        """None where machines have no price."""
        return self.price_per_hour / self.slots_per_instance or None

    def instance(self, name: InstanceId, seat: int, now: datetime) -> Instance:
        """A machine of this pool that is to be begun."""
        return Instance(
            id=name,
            pool=self.pool,
            worker=worker_of(name),
            driver=self.driver,
            seat=seat,
            slots=self.slots_per_instance,
            kind=self.kind,
            price_per_hour=self.price_per_hour,
            state=INSTANCE.initial,
            since=now,
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """Slots that could be used beyond what stands (`waiting`), or may be soon. Told when something changes."""

    waiting: int = 0
    idle: int = 0
    soon: int = 0
    kind: SlotKind | None = None
    heard_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sizing:
    """`launches` new ones, at `seats`; who is to go when it is empty; who may stay after all; who was never begun."""

    seats: tuple[int, ...] = ()
    drains: tuple[Instance, ...] = ()
    undone: tuple[Instance, ...] = ()
    withdrawn: tuple[Instance, ...] = ()


def plan_size(
    policy: Policy,
    demand: Demand,
    live: Sequence[Instance],
    idle_since: Mapping[WorkerId, datetime],
    now: datetime,
) -> Sizing:
    """Brings up the minimum and what is waited for, to the maximum; lets go what has been idle too long above the minimum.

    Staying comes before starting: one that is draining is taken back first. Ties: the newest goes first.
    """
    staying = [one for one in live if one.state not in LEAVING]
    wanted = _wanted(policy, demand, live, staying, now)
    if wanted > 0:
        back = [one for one in reversed(live) if one.state is State.DRAINING][:wanted]
        room = max(0, policy.maximum - len(live))
        return Sizing(seats=_free_seats(live, min(wanted - len(back), room)), undone=tuple(back))
    excess = len(staying) - policy.maximum
    withdrawn = [one for one in reversed(staying) if one.state is State.WANTED][: max(0, excess)]
    too_many = _choose_leaving(staying, excess - len(withdrawn), idle_since)
    idle = _idle_too_long(policy, demand, staying, idle_since, now)
    spare = len(staying) - len(withdrawn) - policy.minimum
    drains = [*too_many, *(one for one in idle if one not in too_many)][: max(0, spare)]
    return Sizing(drains=tuple(drains), withdrawn=tuple(withdrawn))


def _wanted(
    policy: Policy, demand: Demand, live: Sequence[Instance], staying: Sequence[Instance], now: datetime
) -> int:
    """How many more should stay than do."""
    most = policy.maximum - len(staying)
    below_minimum = policy.minimum - len(staying)
    asked = demand.waiting + max(0, demand.soon - demand.idle)
    if demand.kind not in (None, policy.kind):
        asked = 0
    coming = sum(one.slots for one in live if _is_coming(one, demand, now))
    missing = -(-max(0, asked - coming) // policy.slots_per_instance)
    return min(most, max(below_minimum, missing))


def _is_coming(one: Instance, demand: Demand, now: datetime) -> bool:
    """Whether its slots are not yet in the demand, but will be."""
    if one.state in STARTING:
        return True
    if one.state is not State.READY:
        return False
    is_fresh = now - one.since < SETTLES_IN
    return is_fresh and (not one.is_open or demand.heard_at is None or demand.heard_at < one.since)


def _idle_too_long(
    policy: Policy,
    demand: Demand,
    staying: Sequence[Instance],
    idle_since: Mapping[WorkerId, datetime],
    now: datetime,
) -> list[Instance]:
    if demand.waiting or demand.soon:
        return []
    return [
        one
        for one in reversed(staying)
        if one.state is State.READY
        and one.is_open
        and now - idle_since.get(one.worker, now) >= policy.idle_timeout
    ]


def _choose_leaving(
    staying: Sequence[Instance], count: int, idle_since: Mapping[WorkerId, datetime]
) -> list[Instance]:
    """Those that have work go last."""
    ready = [one for one in reversed(staying) if one.state is State.READY]
    return sorted(ready, key=lambda one: one.worker not in idle_since)[: max(0, count)]


def _free_seats(live: Sequence[Instance], count: int) -> tuple[int, ...]:
    taken = {one.seat for one in live}
    free = (seat for seat in range(len(live) + max(0, count)) if seat not in taken)
    return tuple(seat for seat, _ in zip(free, range(max(0, count)), strict=False))
