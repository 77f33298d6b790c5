"""Converts policy, quotas and provider from files to the types of the scheduler's and the provisioner's core."""

from datetime import timedelta

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.state.records.pool import PoolPolicy, Quota
from shared.ids import PoolName
from simulator.demand.reservations import ReservationItem
from simulator.files.schema import Cluster, Policy
from simulator.provisioning.cloud import CloudBehavior
from simulator.provisioning.connections import Rented


def policy_of(policy: Policy, cluster: Cluster, pool: PoolName) -> PoolPolicy:
    """Return the pool's policy."""
    return PoolPolicy(
        name=pool,
        preemption=policy.preemption,
        exclusive=cluster.exclusive,
        default_priority=policy.default_priority,
        order=policy.order,
        ageing=None if policy.ageing_s is None else timedelta(seconds=policy.ageing_s),
        min_run=timedelta(seconds=policy.min_run_s),
        max_preemptions=policy.max_preemptions,
        half_life=timedelta(hours=policy.half_life_h),
        elastic=policy.elastic,
        defragment=policy.defragment,
        topology=policy.topology,
        placement=policy.placement,
        quantum=None if policy.quantum_s is None else timedelta(seconds=policy.quantum_s),
    )


def quotas_of(cluster: Cluster) -> dict[tuple[str, ...], Quota]:
    """Return quotas by (tenant,) or (tenant, workspace)."""
    return {
        tuple(name.split("/")): Quota(limits.guaranteed, limits.maximum, limits.weight)
        for name, limits in cluster.quotas.items()
    }


def rented_of(cluster: Cluster, pool: PoolName) -> Rented | None:
    """Return the provider's pool and behavior; None: no provider."""
    provider = cluster.provider
    if provider is None:
        return None
    kind = MachineKind("machine", "cloud", provider.slots, provider.kind, boot_s=provider.boot_s)
    spec = PoolSpec(
        pool=pool,
        offers=(Offer(kind, price_per_hour=provider.price_per_hour),),
        minimum=provider.minimum,
        maximum=provider.maximum,
        idle_timeout=timedelta(seconds=provider.idle_timeout_s),
        join_timeout=timedelta(seconds=provider.join_timeout_s),
    )
    every_h = provider.spot_every_h
    manners = CloudBehavior(
        boot_ms=round(provider.boot_s * 1000),
        failing=provider.failing,
        taken_every_ms=None if every_h is None else round(every_h * 3_600_000),
    )
    return Rented(spec, manners)


def bookings_of(cluster: Cluster) -> list[ReservationItem]:
    """Return the reservations."""
    return [
        ReservationItem(
            tuple(one.holder.split("/")),
            one.slots,
            *(round(h * 3_600_000) for h in (one.from_h, one.until_h)),
        )
        for one in cluster.reservations
    ]
