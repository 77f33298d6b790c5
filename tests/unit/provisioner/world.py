"""Instances and policies in one line each."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.instance import Instance, InstanceState, IntentId, worker_of
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import InstanceId, PoolName

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
POOL = PoolName("default")
_OPEN = {InstanceState.READY}


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def offer(slots: int = 1, price: float | None = 0.0, **facts: object) -> Offer:
    """A machine of so many cores at this price; `zone`, `purchase` and what else differs."""
    kind = MachineKind(f"m{slots}", "local", slots, "cpu")
    return Offer(kind, price_per_hour=price, **facts)  # type: ignore[arg-type]


def spec(
    minimum: int = 1, maximum: int = 4, slots: int = 1, idle_s: float = 120, **rules: object
) -> PoolSpec:
    known: dict[str, object] = {"offers": (offer(slots),)} | rules
    return PoolSpec(
        pool=POOL,
        minimum=minimum,
        maximum=maximum,
        idle_timeout=seconds(idle_s),
        join_timeout=seconds(300),
        **known,  # type: ignore[arg-type]
    )


def of_offer(
    number: int, made: Offer, state: InstanceState = InstanceState.READY, since: datetime = LONG_AGO
) -> Instance:
    """A machine that was rented so."""
    return instance(
        number,
        state,
        since,
        slots=made.kind.slots,
        price_per_hour=made.price_per_hour,
        machine_kind=made.kind.name,
        zone=made.zone,
        purchase=made.purchase,
    )


def instance(
    number: int, state: InstanceState = InstanceState.READY, since: datetime = LONG_AGO, **facts: object
) -> Instance:
    key = InstanceId(UUID(int=number))
    known: dict[str, object] = {
        "is_schedulable": state in _OPEN,
        "pool_index": number,
        "slots": 1,
        "price_per_hour": 0.0,
        "intent": IntentId(UUID(int=1000 + number)),
        "machine_kind": "m1",
    } | facts
    return Instance(
        id=key,
        pool=POOL,
        worker=worker_of(key),
        driver="local",
        kind="cpu",
        state=state,
        since=since,
        **known,  # type: ignore[arg-type]
    )
