"""Convert messages of scheduler and provisioner to API resources of machines and the queue."""

from datetime import datetime

from services.gateway.cluster import schema as cluster
from services.gateway.cluster.schema import Purchase
from services.gateway.platform.json_values import fraction_of
from services.gateway.platform.references import Row
from shared.messages import instances as instance_messages
from shared.messages.queue import ExpectedStart, Explanation, QueueEntry
from shared.messages.workers import WorkerView


def render_worker(view: WorkerView) -> cluster.Worker:
    return cluster.Worker(
        id=view.worker,
        pool=view.pool,
        state=view.state,
        slots=view.slots,
        used_slots=view.used_slots,
        slot_kind=view.slot_kind,
        isolated_user=view.isolated_user,
        machine=view.machine,
        isolation=view.isolation,
        isolation_detail=view.isolation_detail,
        last_heartbeat_at=view.last_heartbeat_at,
        labels=view.labels,
        disabled_slots=list(view.disabled_slots),
        trouble=view.trouble,
    )


def render_instance(row: Row, now: datetime) -> cluster.InstanceRecord:
    """Render the last announced state; the cost covers the time up to `now` or to the machine's end."""
    changed = instance_messages.InstanceChanged.model_validate(row.last_event)
    return cluster.InstanceRecord(
        id=changed.instance_id,
        pool=changed.pool,
        worker=changed.worker,
        driver=changed.driver,
        state=changed.state,
        slots=changed.slots,
        reason=changed.reason,
        price_per_hour=changed.price_per_hour,
        launched_at=changed.launched_at,
        ended_at=changed.ended_at,
        kind=changed.machine_kind,
        zone=changed.zone,
        purchase=Purchase(changed.purchase),
        since=changed.since,
        cost=_cost_of(changed, now),
    )


def _cost_of(one: instance_messages.InstanceChanged, now: datetime) -> float:
    """Compute the cost as the ledger does. It is 0 before the launch, and never negative despite clock skew."""
    if one.launched_at is None:
        return 0.0
    lifetime = (one.ended_at or now) - one.launched_at
    return max(0.0, lifetime.total_seconds()) / 3600.0 * one.price_per_hour


def render_queue_entry(entry: QueueEntry) -> cluster.QueueEntry:
    return cluster.QueueEntry(
        trial=entry.trial_id,
        trial_number=entry.trial_number,
        experiment=entry.experiment_id,
        experiment_number=entry.experiment_number,
        pool=entry.pool,
        priority=entry.priority,
        slots=entry.slots,
        min_slots=entry.min_slots,
        max_slots=entry.max_slots,
        slot_fraction=fraction_of(entry.fraction),
        state=entry.state,
        position=entry.position,
        code=entry.code,
        reason=entry.reason,
        since=entry.since,
        held=[cluster.HeldSlots(worker=one.worker, slots=list(one.slots)) for one in entry.held],
        expected_start=_render_start(entry.expected_start),
    )


def _render_start(start: ExpectedStart | None) -> cluster.ExpectedStart | None:
    return cluster.ExpectedStart.model_validate(start.model_dump()) if start else None


def render_explanation(explanation: Explanation) -> cluster.Explanation:
    """Message and resource have the same fields, except for `trial` and `slot_fraction`."""
    holders = [
        {**one.model_dump(), "slot_fraction": fraction_of(one.fraction)} for one in explanation.holders
    ]
    return cluster.Explanation.model_validate(
        {"trial": explanation.trial_id, **explanation.model_dump(exclude={"trial_id"}), "holders": holders}
    )
