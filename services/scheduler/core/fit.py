"""Could it ever be placed: what a pool can have at most, in all and on one machine. Asked before anything waits."""

from dataclasses import dataclass

from services.scheduler.core.capacity import Ask, Capacity
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.trial import Needs
from shared.ids import TenantId


@dataclass(frozen=True, slots=True)
class Reach:
    """The most slots that a pool can have for some needs; `is_final`: it can never have more, whatever joins it."""

    slots: int
    where: str
    is_final: bool


def reach_of(capacity: Capacity, policy: PoolPolicy, tenant: TenantId, needs: Needs) -> Reach:
    """What stands, or what the provider may bring the pool to. Without a provider, workers may join at any time."""
    must_be_one = needs.single_node or not policy.exclusive
    where = "on one machine" if must_be_one else "in all"
    if needs.kind is not None and policy.kind not in (None, needs.kind):
        return Reach(0, f"of kind {needs.kind}", is_final=True)
    total, largest = capacity.total_for(Ask(tenant, needs.kind, needs.single_node))
    if policy.max_slots is None:
        return Reach(largest if must_be_one else total, where, is_final=False)
    if needs.kind is not None and policy.provided_kind not in (None, needs.kind):
        return Reach(largest if must_be_one else total, f"of kind {needs.kind}", is_final=True)
    most = (policy.max_slots_per_worker or 0) if must_be_one else policy.max_slots
    return Reach(max(largest if must_be_one else total, most), where, is_final=True)
