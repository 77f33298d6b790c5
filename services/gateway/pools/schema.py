"""Pools, how they are shared, and what tenants and workspaces may hold in them."""

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
    """Who goes first: by submission, by priority, or who has had least of its share."""

    FIFO = "fifo"
    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"


class PoolPlacement(StrEnum):
    """What fits on one machine goes to the fullest that will do, or to the emptiest."""

    BEST_FIT = "best_fit"
    SPREAD = "spread"


class PoolRules(Resource):
    """How a pool is shared."""

    order: PoolOrder
    preemption: bool = Field(description="A waiting request may ask for slots of runs that stand below it.")
    elastic: bool = Field(description="Idle slots are lent to runs that take more than their minimum.")
    default_priority: int = Field(description="Of experiments that name none: 1 (first) to 99 (last).")
    ageing_s: float | None = Field(
        default=None, description="Waiting so long counts as one priority level; none: it never does."
    )
    half_life_s: float = Field(description="After this long, past use counts half (fair share).")
    min_run_s: float = Field(description="So long a run is not asked for its slots.")
    max_preemptions: int | None = Field(
        default=None,
        description="So often a trial is asked for its slots at most; none: whenever it must be.",
    )
    quantum_s: float | None = Field(
        default=None,
        description="A run that has had its slots for so long, and has saved a checkpoint, yields them to an experiment of equal right; none: never.",
    )
    defragment: bool = Field(
        default=False, description="Runs are moved so that free slots come together for a waiting request."
    )
    topology: list[str] = Field(
        default=[],
        description="Keys of labels from narrow to wide, such as rack and zone: gangs stay within one domain where they can.",
    )
    placement: PoolPlacement = Field(
        default=PoolPlacement.BEST_FIT, description="Which of the machines that will do is taken."
    )


class Pool(Resource):
    """A set of workers under one policy."""

    name: str
    slot_kind: str | None = None
    workers: int = Field(description="That take work, or hold some although they take no more.")
    slots: int = Field(description="Of machines that take no more work, those that runs still hold.")
    used_slots: int
    waiting_slots: int
    max_slots: int | None = Field(default=None, description="What it can grow to, where that is known.")
    preemption: bool
    exclusive: bool = Field(description="A machine serves one tenant at a time.")
    rules: PoolRules


class PoolPage(Resource):
    """All pools by name."""

    items: list[Pool]
    next_cursor: str | None = None


class ListPoolsRequest(ListRequest):
    """All pools."""

    listing = Listing.of(
        Pool,
        *("name", "slot_kind", "workers", "slots", "used_slots", "waiting_slots", "max_slots"),
        *("preemption", "exclusive", "rules.order", "rules.elastic"),
        usual="name",
    )


class PoolRequest(Request):
    """One pool by its name."""

    pool: Reference


class EditPoolRequest(Request):
    """Changes of a pool's rules, at once for all that waits and runs; what is left out stays as it is."""

    pool: Reference
    order: PoolOrder | None = None
    preemption: bool | None = None
    elastic: bool | None = None
    default_priority: Priority | None = None
    ageing_s: Annotated[float, Field(ge=1, le=1e9)] | None = None
    no_ageing: bool = Field(default=False, description="True takes `ageing_s` away.")
    half_life_s: Annotated[float, Field(ge=10, le=1e9)] | None = None
    min_run_s: Annotated[float, Field(ge=0, le=1e9)] | None = None
    max_preemptions: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    topology: Annotated[list[LabelPart], Field(max_length=8)] = []
    no_topology: bool = Field(default=False, description="True takes `topology` away.")
    placement: PoolPlacement | None = None
    no_max_preemptions: bool = Field(default=False, description="True takes `max_preemptions` away.")
    quantum_s: Annotated[float, Field(ge=10, le=1e9)] | None = None
    no_quantum: bool = Field(default=False, description="True takes `quantum_s` away.")
    defragment: bool | None = None


class Limit(Resource):
    """What a tenant, or a workspace of one, may hold in a pool, in slots."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    guaranteed: int = Field(
        description="Its own: given back on demand in pools with preemption. Beyond is borrowed."
    )
    maximum: int | None = Field(default=None, description="Never more; none: whatever is free.")
    weight: float = Field(description="Its part among its siblings under fair share.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class LimitPage(Resource):
    """Limits by pool, tenant and workspace."""

    items: list[Limit]
    next_cursor: str | None = None


class ListLimitsRequest(ListRequest):
    """The limits of the caller's tenant (an operator sees all), in one pool or in all."""

    listing = Listing.of(
        Limit,
        *("pool", "tenant", "workspace", "guaranteed", "maximum", "weight"),
        usual="pool,tenant,workspace,id",
    )

    pool: PoolName | None = None


class SetWorkspaceLimitRequest(Request):
    """The whole limit of a workspace of the caller's tenant, within what the tenant itself may hold; the defaults limit nothing."""

    pool: PoolName
    workspace: Annotated[str, Field(min_length=1, max_length=200)]
    guaranteed: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0,
        description="Of what is guaranteed to the tenant: all its workspaces together have no more.",
    )
    maximum: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="None: the tenant's."
    )
    weight: Weight = 1.0


class SetLimitRequest(Request):
    """The whole limit, in place of what was said before; the defaults limit nothing."""

    pool: PoolName
    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="By its name; by default the caller's own."
    )
    workspace: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="None: the tenant as a whole."
    )
    guaranteed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    maximum: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    weight: Weight = 1.0
