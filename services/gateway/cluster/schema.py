"""API schema of workers, instances, the queue and explanations of waiting trials."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from muster.config.labels import MOST_LABELS, LabelPart
from services.gateway.platform.schema import JsonObject, ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing
from shared.messages.queue import QUEUE


class Purchase(StrEnum):
    """How a machine is rented: on demand, or as a spot machine, which its provider may reclaim."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Worker(Resource):
    """The worker daemon of one machine. The owners of its runs are not shown."""

    id: str
    pool: str
    state: str = Field(description="ready, draining or lost.")
    slots: int
    used_slots: int
    slot_kind: str | None = None
    isolated_user: bool = Field(
        description="False if trials run as the worker's own user; such a worker must serve one trusted tenant only."
    )
    machine: str | None = Field(
        default=None,
        description="Equal for all workers of one host. Exclusive pools serve one tenant at a time on a host. Null: not reported.",
    )
    isolation: str | None = Field(
        default=None,
        description="Isolation of runs on the worker: sandbox, user (one system user for all runs) or none. Null: not reported yet.",
    )
    isolation_detail: str = Field(default="", description="Limits of the isolation.")
    last_heartbeat_at: datetime
    labels: dict[str, str] = Field(
        default={}, description="Labels from its configuration, such as `rack`: `r7`."
    )
    disabled_slots: list[int] = Field(default=[], description="Slots that get no new runs.")
    trouble: str | None = Field(
        default=None, description="Why the worker starts no new runs now, such as a full disk."
    )


class WorkerPage(Resource):
    """A page of workers by id."""

    items: list[Worker]
    next_cursor: str | None = None


class ListWorkersRequest(ListRequest):
    """The workers of one pool, or of all."""

    listing = Listing.of(
        Worker,
        *(
            "id",
            "pool",
            "state",
            "slots",
            "used_slots",
            "slot_kind",
            "isolated_user",
            "machine",
            "isolation",
            "last_heartbeat_at",
            "labels",
            "trouble",
        ),
        default_order="id",
    )

    pool: Annotated[str | None, Field(max_length=100)] = None


class WorkerRequest(Request):
    """One worker by its id."""

    worker: Reference


class DrainWorkerRequest(Request):
    """A worker to drain."""

    worker: Reference
    reclaim: bool = Field(
        default=False, description="True asks its runs to save and move; false lets them finish."
    )


class SlotRequest(Request):
    """One slot of a worker, by its number."""

    worker: Reference
    slot: Annotated[int, Field(ge=0, le=65_535)]


class WorkersRequest(Request):
    """The workers of one pool, or of all, that have all of these labels."""

    labels: Annotated[dict[LabelPart, LabelPart], Field(min_length=1, max_length=MOST_LABELS)]
    pool: Annotated[str | None, Field(max_length=100)] = None


class DrainWorkersRequest(WorkersRequest):
    """Workers to drain."""

    reclaim: bool = Field(
        default=False, description="True asks their runs to save and move; false lets them finish."
    )


class InstanceRecord(Resource):
    """A machine that the provisioner rented or started."""

    id: UUID
    pool: str
    worker: str
    driver: str
    state: str
    slots: int
    reason: str | None = None
    price_per_hour: float = 0.0
    launched_at: datetime | None = None
    ended_at: datetime | None = None
    kind: str = Field(default="", description="Machine type in the provider's naming.")
    zone: str | None = None
    purchase: Purchase = Purchase.ON_DEMAND
    since: datetime | None = Field(default=None, description="When it entered its current state.")
    cost: float = Field(default=0.0, description="Cost from its launch to its end, or up to now.")


class InstancePage(Resource):
    """A page of instances, newest first."""

    items: list[InstanceRecord]
    next_cursor: str | None = None


class ListInstancesRequest(ListRequest):
    """The machines that were rented or started."""

    listing = Listing.of(
        InstanceRecord,
        *("pool", "worker", "driver", "kind", "zone", "purchase", "state", "slots", "reason"),
        *("price_per_hour", "since", "launched_at", "ended_at"),
        default_order="-id",
    )


class ExpectedStart(Resource):
    """Estimated start of a trial. `earliest` and `latest` bound an 80 % interval."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int = Field(description="Number of ended runs whose durations the estimate is based on.")


class HeldSlots(Resource):
    """Slots of one worker, by number."""

    worker: str
    slots: list[int]


class QueueEntry(Resource):
    """A trial of the caller's tenant that waits for slots or runs."""

    trial: UUID
    trial_number: int
    experiment: UUID
    experiment_number: int
    pool: str
    priority: int
    slots: int = Field(description="Slots that its run holds, or the maximum that it requests.")
    min_slots: int | None = Field(default=None, description="Minimum number of slots.")
    max_slots: int | None = Field(
        default=None, description="Maximum number of slots; above `min_slots` for an elastic trial."
    )
    slot_fraction: float | None = Field(default=None, description="Fraction of a slot, if it shares one.")
    state: str = Field(description="waiting or running.")
    position: int | None = None
    code: str | None = Field(
        default=None,
        description="Stable code of why it waits, such as `waiting_for_slots`.",
    )
    reason: str | None = None
    since: datetime
    held: list[HeldSlots] = Field(default=[], description="Slots that a running trial holds.")
    expected_start: ExpectedStart | None = Field(
        default=None,
        description="Estimate for a waiting trial, if the request sets `starts` and enough runs have ended.",
    )


class QueuePage(Resource):
    """A page of the queue, in queue order."""

    items: list[QueueEntry]
    next_cursor: str | None = None


class ListQueueRequest(ListRequest):
    """The queue of one pool, or of all, in queue order by default."""

    listing = QUEUE

    pool: Annotated[str | None, Field(max_length=100)] = None
    starts: bool = Field(
        default=False,
        description="True estimates the start of the first 50 waiting trials of the page.",
    )


class Holder(Resource):
    """A run of the caller's tenant that holds slots that a trial waits for."""

    experiment_number: int
    trial_number: int
    slots: int
    slot_fraction: float | None = Field(default=None, description="Fraction of a slot, if it shares one.")
    since: datetime
    leaving: bool = Field(description="True if it was preempted or is ending.")


class Preemption(Resource):
    """Why a trial's run was preempted."""

    run_number: int
    code: str = Field(description="Stable code of the reason, such as `priority`.")
    message: str
    by: str | None = Field(
        default=None, description="The caller's trial that needed the slots, such as `34.1`."
    )


class StartSuggestion(Resource):
    """A change that would let a trial start, according to a scheduling plan."""

    code: str = Field(description="What to change, such as `slots`, `priority` or `pool`.")
    starts: str = Field(description="`now`, or `soon`: once preempted runs have released their slots.")
    message: str
    command: str = Field(description="Command that makes the change.")
    number: int | None = None
    pool: str | None = None


class Explanation(Resource):
    """Explains why a trial waits. Runs of other tenants appear as counts only."""

    trial: UUID
    state: str = Field(description="waiting, running, closed or unknown.")
    code: str = Field(description="Stable code of the reason, such as `waiting_for_slots`.")
    message: str
    facts: JsonObject = {}
    position: int | None = Field(default=None, description="Position in the queue, starting at 1.")
    holders: list[Holder] = Field(
        default=[], description="The caller's runs that hold slots that it waits for: the ten largest."
    )
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = Field(
        default=0, description="Number of runs of other tenants that hold slots that it waits for."
    )
    other_slots: int = 0
    preemption: Preemption | None = Field(
        default=None, description="Set if its current or last run was preempted."
    )
    suggestions: list[StartSuggestion] = Field(default=[], description="Changes that would let it start.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Null if too few runs have ended for an estimate."
    )
