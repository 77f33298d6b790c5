"""What the provisioner tells the others: instances and providers as they now are, and drains that it asks for."""

from services.provisioner.core.instances.instance import Instance
from services.provisioner.store import PoolRecord
from shared.ids import derived_id
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.workers import DrainWorker


def changed(one: Instance) -> InstanceChanged:
    """Its whole public state."""
    return InstanceChanged(
        instance_id=one.id,
        version=one.version,
        pool=one.pool,
        worker=one.worker,
        driver=one.driver,
        state=one.state.value,
        slots=one.slots,
        reason=one.reason,
        price_per_hour=one.price_per_hour,
        launched_at=one.launched_at,
        ended_at=one.ended_at,
        machine_kind=one.machine_kind,
        zone=one.zone,
        purchase=one.purchase,
        since=one.since,
    )


def provided(one: PoolRecord) -> ProviderChanged:
    """What a pool may grow to, what it costs, and what keeps it from growing."""
    return ProviderChanged(
        pool=one.pool,
        version=one.version,
        driver=one.driver,
        minimum=one.minimum,
        maximum=one.maximum,
        slots_per_instance=one.slots_per_instance,
        slot_kind=one.slot_kind,
        instances=one.instances,
        fault=one.fault,
        labels=one.labels,
        price_per_slot_hour=one.price_per_slot_hour,
        is_closing=one.is_closing,
    )


def drain(one: Instance, undo: bool = False, reclaim: bool = False) -> DrainWorker:
    """Asks the scheduler to empty its worker, runs left to end by themselves, or with `reclaim` asked to go on elsewhere; `undo` takes that back."""
    operation = derived_id(one.id, "drain", one.version)
    return DrainWorker(operation_id=operation, worker=one.worker, undo=undo, reclaim=reclaim)
