"""API schema of machine pools, machine types and their costs."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from muster.config.labels import Labels
from services.gateway.cluster.schema import Purchase
from services.gateway.platform.schema import Reference, Request, Resource

Kind = Annotated[str, Field(min_length=1, max_length=100)]
Zone = Annotated[str, Field(min_length=1, max_length=100)]
NewPoolName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
"""A day in UTC, such as 2026-11-22."""


class OfferOrder(StrEnum):
    """Which machine types to rent first: the cheapest, or in the given order."""

    CHEAPEST = "cheapest"
    GIVEN = "given"


class MachinePoolRequest(Request):
    """A machine pool by name."""

    pool: Reference


class PoolMachines(Request):
    """Definition of a machine pool: which machines it may rent, and how many."""

    kinds: Annotated[list[Kind], Field(min_length=1, max_length=50)]
    zones: Annotated[list[Zone], Field(max_length=50)] = Field(
        default=[], description="Zones to rent in; by default all zones of the kinds."
    )
    order: OfferOrder = OfferOrder.CHEAPEST
    minimum: Annotated[int, Field(ge=0, le=10_000)] = 0
    maximum: Annotated[int, Field(ge=0, le=10_000)] = Field(description="Maximum number of machines.")
    maximum_slots: Annotated[int | None, Field(ge=0)] = None
    reserve_slots: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Number of idle slots to keep in reserve."
    )
    spot_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Maximum share of the slots on spot machines, 0 to 1."
    )
    on_demand_slots: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Minimum number of slots on on-demand machines."
    )
    falls_back: bool = Field(
        default=True, description="True rents on-demand machines if spot machines are not available."
    )
    moves_runs: bool = Field(
        default=True,
        description="True moves runs of a pool with spot machines to cheaper machines if the savings outweigh the cost of the move.",
    )
    batching_window_s: Annotated[float, Field(ge=0, le=600)] = Field(
        default=0.0,
        description="Maximum time to delay renting while demand still grows, so that larger machines can cover it.",
    )
    idle_timeout_s: Annotated[float, Field(gt=0)] = 300.0
    join_timeout_s: Annotated[float, Field(gt=0)] = 1200.0
    budget_per_month: Annotated[float | None, Field(gt=0)] = Field(
        default=None,
        description="Budget per month. No machine is rented that could exceed it within the hour.",
    )
    labels: Labels = Field(default={}, description="Labels of its workers.")


class CreateMachinePoolRequest(PoolMachines):
    """A machine pool to create."""

    name: NewPoolName


class UpdateMachinePoolRequest(PoolMachines):
    """The new definition of a machine pool. It replaces the current one; runs are not affected."""

    pool: Reference


class MachineOffer(Resource):
    """A machine type that can be rented, with its location and price."""

    kind: str
    provider: str
    zone: str | None = None
    purchase: Purchase
    slots: int
    slot_kind: str
    gpu: str | None = None
    memory_gib: float | None = Field(
        default=None, description="Memory of one GPU, or of the machine if it has none."
    )
    price_per_hour: float | None = Field(default=None, description="Null if the price is unknown.")
    priced_on: str | None = Field(default=None, description="Day of the price, such as 2026-11-22.")
    held: str | None = Field(
        default=None, description="Why no such machine is requested before `held_until`."
    )
    held_until: datetime | None = None


class MachinePool(Resource):
    """A pool of rented machines."""

    name: str
    of_settings: bool = Field(description="True if the provisioner's settings define it; change it there.")
    closing: bool = Field(description="True if it is being deleted; it disappears with its last machine.")
    kinds: list[str] = []
    zones: list[str] = []
    order: OfferOrder = OfferOrder.CHEAPEST
    minimum: int
    maximum: int
    maximum_slots: int | None = None
    reserve_slots: int = 0
    spot_share: float = 0.0
    on_demand_slots: int = 0
    falls_back: bool = True
    moves_runs: bool = True
    batching_window_s: float = 0.0
    idle_timeout_s: float | None = None
    join_timeout_s: float | None = None
    budget_per_month: float | None = None
    labels: dict[str, str] = {}
    instances: int = Field(description="Number of machines that run or are being launched.")
    spent: float | None = Field(
        default=None, description="Amount spent this month, in UTC; only site operators see it."
    )
    fault: str | None = Field(default=None, description="Why the pool cannot grow as needed.")
    offers: list[MachineOffer] = []


class MachinePools(Resource):
    """All pools of rented machines, by name."""

    items: list[MachinePool]


class MachineKinds(Resource):
    """The machine types that can be rented."""

    items: list[MachineOffer]


class InstanceRequest(Request):
    """A machine by its id."""

    instance: Reference


class ListCostsRequest(Request):
    """The period, first and last day included; by default the last 30 days."""

    since: Day | None = None
    until: Day | None = None


class MachineCost(Resource):
    """Cost of the machines of one kind in a pool on one day."""

    day: str
    pool: str
    kind: str
    purchase: Purchase
    instances: int
    hours: float
    cost: float


class MachineCosts(Resource):
    """The ledger of rented machines, by day, pool, kind and purchase."""

    items: list[MachineCost]


class CostKey(StrEnum):
    """Key to group costs by."""

    DAY = "day"
    POOL = "pool"
    TENANT = "tenant"
    EXPERIMENT = "experiment"


class ListCostSharesRequest(ListCostsRequest):
    """The period, first and last day included (by default the last 30 days), and the keys to group by."""

    by: Annotated[list[CostKey], Field(max_length=4)] = Field(
        default=[], description="Keys to group by; by default tenant."
    )


class CostShare(Resource):
    """Cost of rented machines for one combination of the requested keys."""

    day: str | None = Field(default=None, description="Day in UTC, such as 2026-11-22.")
    pool: str | None = None
    tenant: str | None = None
    experiment: int | None = Field(default=None, description="Number of the experiment.")
    experiment_name: str | None = None
    idle: bool = Field(default=False, description="True for provisioned slots without an allocation.")
    slot_hours: float
    cost: float = Field(
        description="Share of the pool's cost per day: its slot-hours in proportion to all provisioned slot-hours."
    )


class CostShares(Resource):
    """Cost of rented machines by slot usage. The shares of all tenants and of idle slots add up to the ledger."""

    since: str
    until: str
    by: list[CostKey]
    items: list[CostShare]
    cost: float = Field(description="Sum of all items.")
