"""Converts the current state of a pool, from the scheduler and the provisioner, to the simulator's cluster and
policy."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import Rejected
from shared.messages.plans import Outlook, OutlookRequest, ProvidedPool
from shared.messages.pools import PoolRules
from shared.messages.workers import WorkerView
from simulator.files.schema import Cluster, MachineGroup, Policy, Provider, QuotaLimits, Window
from simulator.planning.worker_protocol import tenant_name, workspace_name

BOOT_S = 90.0
"""Assumed time from an order to a machine that accepts work, if none was measured."""


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """A pool snapshot. `label` describes it; `price`: per slot and hour, None if unknown."""

    label: str
    cluster: Cluster
    policy: Policy
    background_jobs: tuple[OutlookRequest, ...] = ()
    price: float | None = None


def snapshot_of(outlook: Outlook, provided: ProvidedPool | None, is_whole: bool) -> PoolSnapshot:
    """Return the snapshot. `is_whole`: as if no other work were there. Raises Rejected for a pool without
    machines that could ever accept work."""
    ready = [one for one in outlook.workers if one.state == "ready" and _slots(one) and not one.trouble]
    provider = _provider(provided, outlook)
    name = outlook.pool.pool
    if not ready and provider is None:
        raise Rejected(
            "no_machines",
            f"pool {name} has no machine that accepts work and no provider that adds one",
            "pool",
        )
    cluster = Cluster(
        machines=tuple(_machine(one) for one in ready),
        provider=provider,
        exclusive=outlook.pool.exclusive,
        quotas={
            _holder(one.tenant, one.workspace): QuotaLimits(
                guaranteed=one.guaranteed, maximum=one.maximum, weight=one.weight
            )
            for one in outlook.limits
        },
        reservations=() if is_whole else tuple(_windows(outlook)),
    )
    known = {one.worker for one in ready}
    others = () if is_whole else tuple(one for one in outlook.requests if known.issuperset(one.workers))
    label = _label(name, ready, provider)
    return PoolSnapshot(label, cluster, _policy(outlook.pool.rules), others, outlook.price_per_slot_hour)


def _machine(worker: WorkerView) -> MachineGroup:
    return MachineGroup(
        name=worker.worker,
        is_numbered=False,
        slots=_slots(worker),
        kind=worker.slot_kind,
        host=worker.machine,
        labels=worker.labels,
    )


def _slots(worker: WorkerView) -> int:
    return worker.slots - len(worker.disabled_slots)


def _provider(provided: ProvidedPool | None, outlook: Outlook) -> Provider | None:
    """Return the machines that can still be added."""
    if provided is None:
        return None
    here = {one.worker for one in outlook.workers}
    more = provided.maximum - len(here.intersection(provided.rented))
    if more <= 0:
        return None
    return Provider(
        slots=provided.slots_per_instance,
        maximum=more,
        kind=provided.slot_kind,
        price_per_hour=provided.price_per_hour,
        boot_s=BOOT_S if provided.boot_s is None else provided.boot_s,
        idle_timeout_s=max(1.0, provided.idle_timeout_s),
    )


def _windows(outlook: Outlook) -> Sequence[Window]:
    return [
        Window(
            holder=_holder(one.tenant, one.workspace),
            slots=one.slots,
            from_h=one.starts_in_s / 3600,
            until_h=one.ends_in_s / 3600,
        )
        for one in outlook.windows
        if one.ends_in_s > one.starts_in_s
    ]


def _holder(tenant: int, workspace: int | None) -> str:
    above = tenant_name(tenant)
    return above if workspace is None else f"{above}/{workspace_name(workspace)}"


def _policy(rules: PoolRules) -> Policy:
    return Policy(
        order=rules.order,
        preemption=rules.preemption,
        default_priority=rules.default_priority,
        ageing_s=rules.ageing_s,
        min_run_s=rules.min_run_s,
        max_preemptions=rules.max_preemptions,
        half_life_h=rules.half_life_s / 3600,
        quantum_s=rules.quantum_s,
        elastic=rules.elastic,
        defragment=rules.defragment,
        topology=rules.topology,
        placement=rules.placement,
    )


def _label(pool: str, ready: Sequence[WorkerView], provider: Provider | None) -> str:
    slots = sum(map(_slots, ready))
    label = f"pool {pool}, {_count(slots, 'slot')} on {_count(len(ready), 'machine')}"
    if provider is None:
        return label
    return f"{label} and up to {_count(provider.maximum, 'machine')} more with {_count(provider.slots, 'slot')} each"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
