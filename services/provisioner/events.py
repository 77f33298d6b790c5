"""Messages of the provisioner: instances, pools of providers, and drain requests."""

from services.provisioner.core.instances.instance import Instance
from services.provisioner.store import PoolRecord
from shared.ids import derived_id
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.workers import DrainWorker


def changed(one: Instance) -> InstanceChanged:
    """Return the instance's whole public state."""
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
    """Return a pool's bounds, price, and the problem that keeps it from growing."""
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
    """Ask the scheduler to drain the instance's worker.

    Its runs end by themselves, or with `reclaim` are asked to migrate. `undo` cancels the drain.
    """
    operation = derived_id(one.id, "drain", one.version)
    return DrainWorker(operation_id=operation, worker=one.worker, undo=undo, reclaim=reclaim)
