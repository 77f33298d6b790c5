"""Requests and responses for pools, their scheduling rules, and limits of tenants and workspaces."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from muster.config.labels import LabelPart
from muster.config.priority_weight import Priority, Weight
from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing

PoolName = Annotated[str, Field(min_length=1, max_length=128)]


class PoolOrder(StrEnum):
    """Queue order: by submission time, by priority, or by least use relative to the fair share."""

    FIFO = "fifo"
    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"


class PoolPlacement(StrEnum):
    """Machine for work that fits on one machine: the fullest with enough free slots, or the emptiest."""

    BEST_FIT = "best_fit"
    SPREAD = "spread"


class PoolRules(Resource):
    """Scheduling rules of a pool."""

    order: PoolOrder
    preemption: bool = Field(description="Waiting requests may preempt runs that rank below them.")
    elastic: bool = Field(description="Elastic runs get idle slots on top of their minimum.")
    default_priority: int = Field(
        description="Priority of experiments that set none, from 1 (most urgent) to 99 (least urgent)."
    )
    ageing_s: float | None = Field(
        default=None,
        description="Seconds of waiting that raise a request by one priority level. Null: no ageing.",
    )
    half_life_s: float = Field(description="Half-life of past usage under fair share, in seconds.")
    min_run_s: float = Field(description="Seconds that a run holds its slots before it can be preempted.")
    max_preemptions: int | None = Field(
        default=None,
        description="Maximum number of times that a trial is preempted. Null: no limit.",
    )
    quantum_s: float | None = Field(
        default=None,
        description="Length of a time slice, in seconds. After it, a run that has saved a checkpoint yields its slots to an experiment of the same rank. Null: no time slicing.",
    )
    defragment: bool = Field(
        default=False, description="Move runs so that enough free slots come together for a waiting request."
    )
    topology: list[str] = Field(
        default=[],
        description="Label keys of placement domains, from narrow to wide, such as rack and zone. Gangs are placed within one domain where possible.",
    )
    placement: PoolPlacement = Field(
        default=PoolPlacement.BEST_FIT,
        description="How the scheduler chooses among machines with enough free slots.",
    )
    trusted: bool = Field(
        default=False,
        description="The pool serves one tenant only, and its workers need no sandbox. A pool that is not trusted does not use workers that cannot isolate runs.",
    )
    tenant: UUID | None = Field(
        default=None,
        description="Id of the only tenant of a trusted pool. Null: the pool serves all tenants.",
    )


class Pool(Resource):
    """A set of workers with common scheduling rules."""

    name: str
    slot_kind: str | None = None
    workers: int = Field(description="Workers that accept work, and draining workers that still hold runs.")
    slots: int = Field(
        description="Slots of the workers. For a draining worker, only the slots that runs still hold count."
    )
    used_slots: int
    waiting_slots: int
    max_slots: int | None = Field(default=None, description="Slots that the pool can grow to. Null: unknown.")
    preemption: bool
    exclusive: bool = Field(description="Each machine runs work of one tenant at a time.")
    rules: PoolRules


class PoolPage(Resource):
    """A page of pools by name."""

    items: list[Pool]
    next_cursor: str | None = None


class ListPoolsRequest(ListRequest):
    """All pools."""

    listing = Listing.of(
        Pool,
        *("name", "slot_kind", "workers", "slots", "used_slots", "waiting_slots", "max_slots"),
        *("preemption", "exclusive", "rules.order", "rules.elastic"),
        default_order="name",
    )


class PoolRequest(Request):
    """One pool by its name."""

    pool: Reference


class EditPoolRequest(Request):
    """Changes to a pool's rules. Omitted fields keep their values. The rules apply at once to waiting and running work."""

    pool: Reference
    order: PoolOrder | None = None
    preemption: bool | None = None
    elastic: bool | None = None
    default_priority: Priority | None = None
    ageing_s: Annotated[float, Field(ge=1, le=1e9)] | None = None
    no_ageing: bool = Field(default=False, description="True removes `ageing_s`.")
    half_life_s: Annotated[float, Field(ge=10, le=1e9)] | None = None
    min_run_s: Annotated[float, Field(ge=0, le=1e9)] | None = None
    max_preemptions: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    topology: Annotated[list[LabelPart], Field(max_length=8)] = []
    no_topology: bool = Field(default=False, description="True removes `topology`.")
    placement: PoolPlacement | None = None
    no_max_preemptions: bool = Field(default=False, description="True removes `max_preemptions`.")
    quantum_s: Annotated[float, Field(ge=10, le=1e9)] | None = None
    no_quantum: bool = Field(default=False, description="True removes `quantum_s`.")
    defragment: bool | None = None
    trusted: bool | None = Field(
        default=None, description="True: the pool serves one tenant only, and its workers need no sandbox."
    )
    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None,
        description="Name of the only tenant of a trusted pool. Default: the tenant `default`, or the one set before.",
    )


class Limit(Resource):
    """Slots that a tenant or a workspace may use in a pool."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="Null: the limit applies to the whole tenant.")
    guaranteed: int = Field(
        description="Guaranteed slots. In pools with preemption, the scheduler reclaims them from borrowers on demand. Slots beyond the guarantee are borrowed."
    )
    maximum: int | None = Field(default=None, description="Maximum slots. Null: all free slots.")
    weight: float = Field(
        description="Weight under fair share, relative to other tenants, or to other workspaces of the tenant."
    )
    warnings: list[str] = Field(default=[], description="Warnings about a limit that was just set.")


class LimitPage(Resource):
    """A page of limits by pool, tenant and workspace."""

    items: list[Limit]
    next_cursor: str | None = None


class ListLimitsRequest(ListRequest):
    """The limits of the caller's tenant, in one pool or in all pools. Operators see the limits of all tenants."""

    listing = Listing.of(
        Limit,
        *("pool", "tenant", "workspace", "guaranteed", "maximum", "weight"),
        default_order="pool,tenant,workspace,id",
    )

    pool: PoolName | None = None


class SetWorkspaceLimitRequest(Request):
    """The limit of a workspace, within the tenant's own limit. It replaces the previous limit. The defaults limit nothing."""

    pool: PoolName
    workspace: Annotated[str, Field(min_length=1, max_length=200)]
    guaranteed: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0,
        description="Guaranteed slots. The guarantees of all workspaces together cannot exceed the tenant's guarantee.",
    )
    maximum: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="Null: up to the tenant's maximum."
    )
    weight: Weight = 1.0


class SetLimitRequest(Request):
    """A limit that replaces the previous one. The defaults limit nothing."""

    pool: PoolName
    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Name of the tenant. Default: the caller's tenant."
    )
    workspace: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Null: the limit applies to the whole tenant."
    )
    guaranteed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    maximum: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    weight: Weight = 1.0
