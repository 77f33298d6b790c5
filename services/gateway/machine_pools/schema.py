"""Rented machines: pools of them, what can be rented, and what it has cost."""

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
"""As 2026-11-22, in UTC."""


class OfferOrder(StrEnum):
    """Which machines are rented first: the cheapest, or in the order given."""

    CHEAPEST = "cheapest"
    GIVEN = "given"


class MachinePoolRequest(Request):
    """Names a pool of rented machines."""

    pool: Reference


class PoolMachines(Request):
    """What machines a pool may rent, and how many."""

    kinds: Annotated[list[Kind], Field(min_length=1, max_length=50)]
    zones: Annotated[list[Zone], Field(max_length=50)] = Field(
        default=[], description="None: all of the kinds' zones."
    )
    order: OfferOrder = OfferOrder.CHEAPEST
    minimum: Annotated[int, Field(ge=0, le=10_000)] = 0
    maximum: Annotated[int, Field(ge=0, le=10_000)] = Field(description="Machines at most.")
    maximum_slots: Annotated[int | None, Field(ge=0)] = None
    reserve_slots: Annotated[int, Field(ge=0)] = Field(default=0, description="Kept idle for what may come.")
    spot_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="At most this share of the slots is on spot machines."
    )
    on_demand_slots: Annotated[int, Field(ge=0)] = Field(
        default=0, description="At least so many slots are not on spot machines."
    )
    falls_back: bool = Field(
        default=True, description="Other machines are rented where spot machines are not to be had."
    )
    moves_runs: bool = Field(
        default=True,
        description="In a pool with spot machines, runs save and go on elsewhere once that is cheaper for long enough to pay.",
    )
    patience_s: Annotated[float, Field(ge=0, le=600)] = Field(
        default=0.0,
        description="While more and more slots are asked for, renting waits so long at most, so that larger machines cover them.",
    )
    idle_timeout_s: Annotated[float, Field(gt=0)] = 300.0
    join_timeout_s: Annotated[float, Field(gt=0)] = 1200.0
    budget_per_month: Annotated[float | None, Field(gt=0)] = Field(
        default=None, description="No machine is rented that could pass it within the hour."
    )
    labels: Labels = Field(default={}, description="What its machines are labelled with.")


class CreateMachinePoolRequest(PoolMachines):
    """A new pool."""

    name: NewPoolName


class UpdateMachinePoolRequest(PoolMachines):
    """What a pool may rent from now on, in place of what was said before; running work is not touched."""

    pool: Reference


class MachineOffer(Resource):
    """A kind of machine as it can be had somewhere."""

    kind: str
    provider: str
    zone: str | None = None
    purchase: Purchase
    slots: int
    slot_kind: str
    gpu: str | None = None
    memory_gib: float | None = Field(default=None, description="Of one GPU, or of a machine without.")
    price_per_hour: float | None = Field(default=None, description="None: nothing is known.")
    priced_on: str | None = Field(default=None, description="The day of the price, as 2026-11-22.")
    held: str | None = Field(default=None, description="Why none is asked for before `held_until`.")
    held_until: datetime | None = None


class MachinePool(Resource):
    """A pool of rented machines."""

    name: str
    of_settings: bool = Field(description="The provisioner's settings define it; it is changed there.")
    closing: bool = Field(description="It goes with its last machine.")
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
    patience_s: float = 0.0
    idle_timeout_s: float | None = None
    join_timeout_s: float | None = None
    budget_per_month: float | None = None
    labels: dict[str, str] = {}
    instances: int = Field(description="Machines that stand or are being made.")
    spent: float | None = Field(
        default=None, description="Since the first of the month, in UTC; who keeps the site sees it."
    )
    fault: str | None = Field(default=None, description="What keeps it from growing as it would.")
    offers: list[MachineOffer] = []


class MachinePools(Resource):
    """All pools of rented machines, by name."""

    items: list[MachinePool]


class MachineKinds(Resource):
    """What can be rented."""

    items: list[MachineOffer]


class InstanceRequest(Request):
    """Names a machine."""

    instance: Reference


class ListCostsRequest(Request):
    """Which days, both counted; by default the last 30."""

    since: Day | None = None
    until: Day | None = None


class MachineCost(Resource):
    """What machines of one kind of a pool have cost on one day."""

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
    """What shares of the cost are added up by."""

    DAY = "day"
    POOL = "pool"
    TENANT = "tenant"
    EXPERIMENT = "experiment"


class ListCostSharesRequest(ListCostsRequest):
    """Which days, both counted (by default the last 30), and what to add up by."""

    by: Annotated[list[CostKey], Field(max_length=4)] = Field(default=[], description="By default tenant.")


class CostShare(Resource):
    """What rented machines have cost for one of each key that was asked for."""

    day: str | None = Field(default=None, description="As 2026-11-22, in UTC.")
    pool: str | None = None
    tenant: str | None = None
    experiment: int | None = Field(default=None, description="Its number.")
    experiment_name: str | None = None
    idle: bool = Field(default=False, description="True for what stood and was held by nobody.")
    slot_hours: float
    cost: float = Field(
        description="The slot-hours' part of what the pool's machines have cost on each day, of all slot-hours that stood."
    )


class CostShares(Resource):
    """What rented machines have cost, told apart by who held their slots; of all tenants and idle time the shares add up to the ledger."""

    since: str
    until: str
    by: list[CostKey]
    items: list[CostShare]
    cost: float = Field(description="All of them together.")
