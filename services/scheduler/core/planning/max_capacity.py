"""Whether a request could ever be placed: the most slots that a pool can have, in total and on one machine.
Checked on submission."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex
from services.scheduler.core.state.indexes.queue import ask_of
from services.scheduler.core.state.records.labels import PlacementConstraint, has_all
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from services.scheduler.core.state.records.worker import Liveness, Worker
from shared.ids import TenantId


@dataclass(frozen=True, slots=True)
class ReachableSlots:
    """The most slots that a pool can have for a request. `is_final`: it can never have more."""

    slots: int
    where: str
    is_final: bool


def reach_of(
    capacity: CapacityIndex, policy: PoolPolicy, workers: Iterable[Worker], tenant: TenantId, needs: SlotNeeds
) -> ReachableSlots:
    """Return what exists, or what the provider can add. In a pool without a provider workers may join at any time.

    Args:
        workers: All known workers of any pool. Workers of this pool count for labels even if they accept no runs.
    """
    must_be_one = needs.single_node or not policy.exclusive
    where = "on one machine" if must_be_one else "in total"
    if needs.kind is not None and policy.kind not in (None, needs.kind):
        return ReachableSlots(0, f"of kind {needs.kind}", is_final=True)
    if needs.where is not None and not has_all(policy.provided_labels, needs.where.required):
        return _reach_of_labels(policy, workers, needs, needs.where, must_be_one)
    total, largest = capacity.total_for(ask_of(tenant, needs))
    if policy.max_slots is None:
        return ReachableSlots(largest if must_be_one else total, where, is_final=False)
    if needs.kind is not None and policy.provided_kind not in (None, needs.kind):
        return ReachableSlots(largest if must_be_one else total, f"of kind {needs.kind}", is_final=True)
    most = (policy.max_slots_per_worker or 0) if must_be_one else policy.max_slots
    return ReachableSlots(max(largest if must_be_one else total, most), where, is_final=True)


def _reach_of_labels(
    policy: PoolPolicy,
    workers: Iterable[Worker],
    needs: SlotNeeds,
    where: PlacementConstraint,
    must_be_one: bool,
) -> ReachableSlots:
    """Only known machines count, because the provider's machines lack these labels. Labels that no known
    machine has are taken for a mistake."""
    known = [one for one in workers if one.pool == policy.name and one.liveness is not Liveness.REMOVED]
    sizes = [
        len(one.slot_ids)
        for one in known
        if needs.kind in (None, one.kind) and where.admits(one.id, one.labels)
    ]
    most = max(sizes, default=0) if must_be_one else sum(sizes)
    place = f"on one machine {where}" if must_be_one else f"on machines {where}"
    return ReachableSlots(most, place, is_final=policy.max_slots is not None or bool(known and not sizes))
