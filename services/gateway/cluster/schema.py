"""Workers, the queue and its reasons as users and operators see them."""

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
    """How a machine is rented: until it is given back, or until its provider takes it back."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Worker(Resource):
    """The daemon on one machine; whose work it holds is not shown."""

    id: str
    pool: str
    state: str = Field(description="ready, draining or lost.")
    slots: int
    used_slots: int
    slot_kind: str | None = None
    isolated_user: bool = Field(
        description="False: trials run as the worker's own user, so it trusts one tenant."
    )
    last_heard: datetime
    labels: dict[str, str] = Field(default={}, description="What its owner says of it, such as `rack`: `r7`.")
    disabled_slots: list[int] = Field(default=[], description="Of its slots, those that take no more work.")
    trouble: str | None = Field(
        default=None, description="Why nothing new begins there now: its disk is full."
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
            "last_heard",
            "labels",
            "trouble",
        ),
        usual="id",
    )

    pool: Annotated[str | None, Field(max_length=100)] = None


class WorkerRequest(Request):
    """One worker by its id."""

    worker: Reference


class DrainWorkerRequest(Request):
    """A worker that is to take no more work."""

    worker: Reference
    reclaim: bool = Field(
        default=False, description="True asks its runs to save and go; false waits until they have ended."
    )


class SlotRequest(Request):
    """One slot of a worker, by its number there."""

    worker: Reference
    slot: Annotated[int, Field(ge=0, le=65_535)]


class WorkersRequest(Request):
    """The workers of one pool, or of all, that have all of these labels."""

    labels: Annotated[dict[LabelPart, LabelPart], Field(min_length=1, max_length=MOST_LABELS)]
    pool: Annotated[str | None, Field(max_length=100)] = None


class DrainWorkersRequest(WorkersRequest):
    """Workers that are to take no more work."""

    reclaim: bool = Field(
        default=False, description="True asks their runs to save and go; false waits until they have ended."
    )


class InstanceRecord(Resource):
    """A machine that the provisioner rents or started."""

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
    kind: str = Field(default="", description="As its provider names it.")
    zone: str | None = None
    purchase: Purchase = Purchase.ON_DEMAND
    since: datetime | None = Field(default=None, description="When it came into its state.")
    cost: float = Field(default=0.0, description="From its launch to its end, or up to now.")


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
        usual="-id",
    )


class ExpectedStart(Resource):
    """When a trial will probably start: in eight of ten cases between `earliest` and `latest`."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int = Field(description="Reckoned from how long so many ended runs held their slots.")


class HeldSlots(Resource):
    """Slots of one worker, by their numbers there."""

    worker: str
    slots: list[int]


class QueueEntry(Resource):
    """One request for slots of the caller's tenant."""

    trial: UUID
    trial_number: int
    experiment: UUID
    experiment_number: int
    pool: str
    priority: int
    slots: int = Field(description="What its run holds, or the most that it waits for.")
    min_slots: int | None = Field(default=None, description="The fewest with which it runs.")
    max_slots: int | None = Field(
        default=None, description="The most; above `min_slots` for an elastic trial."
    )
    slot_part: float | None = Field(
        default=None, description="How much of its slot it takes, where it shares one."
    )
    state: str = Field(description="waiting or running.")
    position: int | None = None
    code: str | None = Field(
        default=None,
        description="A stable word for why it waits, such as `waiting_for_slots`.",
    )
    reason: str | None = None
    since: datetime
    held: list[HeldSlots] = Field(default=[], description="Where a running one has its slots.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Of a waiting one, where `starts` asked for it and it can be told."
    )


class QueuePage(Resource):
    """A page of the queue in the order of service."""

    items: list[QueueEntry]
    next_cursor: str | None = None


class ListQueueRequest(ListRequest):
    """The queue of one pool, or of all; in the order of service, unless it is sorted."""

    listing = QUEUE

    pool: Annotated[str | None, Field(max_length=100)] = None
    starts: bool = Field(
        default=False,
        description="True tells of the first fifty that wait on a page when they will probably start.",
    )


class Holder(Resource):
    """A run of the caller's tenant that holds what a trial waits for."""

    experiment_number: int
    trial_number: int
    slots: int
    slot_part: float | None = Field(
        default=None, description="How much of its slot it takes, where it shares one."
    )
    since: datetime
    leaving: bool = Field(description="It was asked to give its slots back, or is ending.")


class GivenBack(Resource):
    """Why a trial's run was asked for its slots."""

    run_number: int
    code: str = Field(description="A stable word, such as `priority`.")
    message: str
    by: str | None = Field(default=None, description="The caller's trial that was to have them: `34.1`.")


class WayOut(Resource):
    """A change with which a trial would start, as a plan has found."""

    code: str = Field(description="What to change: a stable word, such as `slots`, `priority` or `pool`.")
    starts: str = Field(description="`now`, or `soon`: when slots that it may then ask for have come back.")
    message: str
    command: str = Field(description="The command that makes the change.")
    number: int | None = None
    pool: str | None = None


class Explanation(Resource):
    """An answer to "why is my trial waiting"; others' work appears as numbers only."""

    trial: UUID
    state: str = Field(description="waiting, running, closed or unknown.")
    code: str = Field(description="A stable word, such as `waiting_for_slots`.")
    message: str
    facts: JsonObject = {}
    position: int | None = Field(default=None, description="Its place in the queue, from 1.")
    holders: list[Holder] = Field(
        default=[], description="The caller's runs that hold what it waits for: the largest ten."
    )
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = Field(default=0, description="How many runs of other tenants hold what it waits for.")
    other_slots: int = 0
    given_back: GivenBack | None = Field(
        default=None, description="Set when its present or last run was asked for its slots."
    )
    ways_out: list[WayOut] = Field(default=[], description="What would let it start.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Missing where too few runs have ended to tell."
    )
