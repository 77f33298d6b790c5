"""Loads policies, quotas, reservations and experiment policies that this leader may have missed, because a
handler of an earlier leader committed them after this one had read the tables. `reconcile` calls it every few
seconds. Changes that arrive at this leader are applied immediately by `pool_policies`, `experiment_policies` and `reservations`
(`Cycle.edit`)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.reducers import requests
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.pool import NO_QUOTA, Path, PoolPolicy, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.store.policies import load_pools, load_quotas
from services.scheduler.store.requests import load_policies
from services.scheduler.store.reservations import load_reservations
from shared.ids import ExperimentId, PoolName


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The stored rules. `policies`: of experiments with open requests."""

    pools: list[PoolPolicy]
    quotas: list[tuple[PoolName, Path, Quota]]
    reservations: list[Reservation]
    policies: dict[ExperimentId, ExperimentPolicy]


async def load_rules(connection: AsyncConnection, cluster: Cluster, now: datetime) -> StoredRules:
    return StoredRules(
        pools=await load_pools(connection),
        quotas=await load_quotas(connection),
        reservations=await load_reservations(connection, now),
        policies=await load_policies(connection, list(cluster.live)),
    )


def apply_rules(cluster: Cluster, rules: StoredRules) -> None:
    """Apply the differences."""
    for policy in rules.pools:
        known = cluster.pools.get(policy.name)
        if known is None or known.policy != policy:
            cluster.put_pool(policy)
    _take_up_quotas(cluster, rules)
    _take_up_reservations(cluster, rules)
    for experiment, experiment_policy in rules.policies.items():
        if cluster.policies.get(experiment, experiment_policy) != experiment_policy:
            cluster.apply(requests.on_experiment_policy(cluster, experiment, experiment_policy))


def _take_up_quotas(cluster: Cluster, rules: StoredRules) -> None:
    for pool, path, quota in rules.quotas:
        if pool in cluster.pools and cluster.pools[pool].shares.quotas.get(path, NO_QUOTA) != quota:
            cluster.apply(requests.on_quota(cluster, pool, path, None if quota == NO_QUOTA else quota))
    kept = {(pool, path) for pool, path, _ in rules.quotas}
    ruled = {(name, path) for name, known in cluster.pools.items() for path in known.shares.quotas}
    for name, path in ruled - kept:
        cluster.apply(requests.on_quota(cluster, name, path, None))  # deleted quotas


def _take_up_reservations(cluster: Cluster, rules: StoredRules) -> None:
    booked = {one.id: one for one in rules.reservations}
    known = {one.id: one for pool in cluster.pools.values() for one in pool.reservations.values()}
    for one in booked.keys() - known.keys():
        cluster.apply(requests.on_reserved(cluster, booked[one]))
    for one in known.keys() - booked.keys():
        if known[one].end_ms > cluster.now_ms:
            cluster.apply(requests.on_reservation_cancelled(cluster, one))
