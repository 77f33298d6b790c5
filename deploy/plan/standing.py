"""A pool as it stands, as the simulator takes it: its machines with the slots that are free, its rules, and what a slot costs."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.client import connect
from muster.client.models import InstanceRecord, Pool, Worker
from muster.errors import Rejected
from simulator.files.schema import Cluster, Machines, Policy


@dataclass(frozen=True, slots=True)
class Standing:
    """`label` says of what it is; `price`: of a slot for an hour, None where no machine has one."""

    label: str
    cluster: Cluster
    policy: Policy
    price: float | None


def ask(name: str, is_whole: bool, excluded: Sequence[str] = ()) -> Standing:
    """Asks the platform; `excluded` workers are left out. Raises Rejected where nothing is free to plan with."""
    with connect() as client:
        pool = client.cluster.pool(name)
        workers = client.cluster.workers(name).all()
        instances = client.cluster.instances().all()
    return standing_of(pool, workers, instances, is_whole, excluded)


def standing_of(
    pool: Pool,
    workers: list[Worker],
    instances: list[InstanceRecord],
    is_whole: bool,
    excluded: Sequence[str] = (),
) -> Standing:
    """From what the platform has told."""
    slots = {
        one.id: one.slots if is_whole else one.slots - one.used_slots
        for one in workers
        if one.state == "ready" and one.id not in excluded
    }
    known = {one.id: {"kind": one.slot_kind, "labels": one.labels} for one in workers}
    machines = [
        {"name": worker, "slots": count, **known[worker]} for worker, count in slots.items() if count > 0
    ]
    total = sum(one.slots for one in workers if one.state == "ready")
    elsewhere = f" on machines other than {', '.join(excluded)}" if excluded else ""
    if not machines:
        raise Rejected(
            "nothing_free",
            f"pool {pool.name} has {_count(total, 'slot')}, and none is free now{elsewhere}",
            hint="plan with --whole, as if nothing else ran, or for other machines with --cluster",
        )
    free = sum(count for count in slots.values())
    part = "all its" if is_whole else f"the {free} free of its"
    return Standing(
        label=f"pool {pool.name}, {part} {_count(total, 'slot')} on {_count(len(machines), 'machine')}",
        cluster=Cluster(
            machines=tuple(Machines.model_validate(one) for one in machines), exclusive=pool.exclusive
        ),
        policy=_policy(pool),
        price=_price(pool.name, instances),
    )


def _policy(pool: Pool) -> Policy:
    rules = pool.rules
    return Policy(
        order=rules.order.value,
        preemption=rules.preemption,
        default_priority=rules.default_priority,
        ageing_s=rules.ageing_s,
        min_run_s=rules.min_run_s,
        max_preemptions=rules.max_preemptions,
        half_life_h=rules.half_life_s / 3600,
    )


def _price(pool: str, instances: list[InstanceRecord]) -> float | None:
    mine = [one for one in instances if one.pool == pool and one.ended_at is None and one.slots]
    slots = sum(one.slots for one in mine)
    price = sum(one.price_per_hour for one in mine)
    return price / slots if slots and price else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
