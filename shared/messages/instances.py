"""Rented instances and their prices, owned by the provisioner."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.base import Event, Query, Record
from shared.messages.trial_specs import SlotKind

InstanceState = Literal[
    "requested",
    "launching",
    "joining",
    "ready",
    "draining",
    "drained",
    "terminating",
    "terminated",
    "lost",
    "failed",
]


class InstanceChanged(Event, entity="instance", happened="changed", key="instance_id"):
    """provisioner → gateway, scheduler: state of a rented instance.

    `machine_kind`, `zone` and `purchase`: what was rented. `since`: when the instance entered its state.
    """

    instance_id: InstanceId
    version: int
    pool: PoolName
    worker: WorkerId
    driver: str
    state: InstanceState
    slots: int
    reason: str | None = None
    price_per_hour: float = 0.0
    launched_at: datetime | None = None
    ended_at: datetime | None = None
    machine_kind: str = ""
    zone: str | None = None
    purchase: Literal["on_demand", "spot"] = "on_demand"
    since: datetime | None = None


class ProviderChanged(Event, entity="provider", happened="changed", key="pool"):
    """provisioner → scheduler, gateway: size limits and prices of a pool of rented machines.

    `price_per_slot_hour` None: unknown. `fault`: what prevents the pool from growing. `is_closing`: the pool is removed with its last machine.
    """

    pool: PoolName
    version: int
    driver: str
    minimum: int
    maximum: int
    slots_per_instance: int
    slot_kind: SlotKind | None = None
    instances: int
    fault: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    price_per_slot_hour: float | None = None
    is_closing: bool = False


class Price(Record):
    pool: PoolName
    driver: str
    slots_per_instance: int
    price_per_hour: float


class Prices(BaseModel):
    prices: tuple[Price, ...]


class GetPrices(Query[Prices], owner="provisioner", name="prices"):
    """Return the price of one instance of each pool."""


class Cost(Record):
    pool: PoolName
    instances: int
    instance_hours: float
    cost: float


class Costs(BaseModel):
    costs: tuple[Cost, ...]


class GetCosts(Query[Costs], owner="provisioner", name="costs"):
    """Return instance hours and costs by pool since a time."""

    since: datetime | None = None
