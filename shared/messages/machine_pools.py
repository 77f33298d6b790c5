"""Pools of rented machines: their definitions, available machine kinds and costs."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, Field

from muster.config.labels import Labels
from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.base import Query, Record
from shared.messages.trial_specs import SlotKind
from shared.messages.workers import IssuedJoin


class PoolDefinition(Record):
    """Which machines a pool may rent, and how many.

    Attributes:
        kinds: Machine kinds of the catalogue, in order of preference with `order: given`.
        zones: Zones of these kinds; empty: all of them.
        minimum, maximum: Number of machines.
        maximum_slots: Limit on the slots of all machines.
        reserve_slots: Slots kept idle for new requests.
        spot_share: Maximum share of slots on spot machines.
        on_demand_slots: Minimum number of slots on on-demand machines.
        falls_back: Rent on-demand machines when spot machines are unavailable.
        moves_runs: In a pool with spot machines, ask runs to save and resume on cheaper machines once the saving pays for the move.
        batching_window_s: While demand keeps growing, delay renting by at most this time, so that larger machines cover the requests.
        idle_timeout_s: Release a machine after it was idle for this time.
        join_timeout_s: Give up a machine that has not joined after this time.
        budget_per_month: Amount per calendar month in UTC. The pool launches no machine that could exceed it within the hour.
    """

    kinds: tuple[str, ...]
    zones: tuple[str, ...] = ()
    order: Literal["cheapest", "given"] = "cheapest"
    minimum: int = Field(0, ge=0, le=10_000)
    maximum: int = Field(ge=0, le=10_000)
    maximum_slots: int | None = Field(None, ge=0)
    reserve_slots: int = Field(0, ge=0)
    spot_share: float = Field(0.0, ge=0, le=1)
    on_demand_slots: int = Field(0, ge=0)
    falls_back: bool = True
    moves_runs: bool = True
    batching_window_s: float = Field(0.0, ge=0, le=600)
    idle_timeout_s: float = Field(300.0, gt=0)
    join_timeout_s: float = Field(1200.0, gt=0)
    budget_per_month: float | None = Field(None, gt=0)
    labels: Labels = Field(default_factory=dict)


class OfferView(Record):
    """An available combination of machine kind, provider, zone and purchase type. `held`: why none is requested before `held_until`."""

    kind: str
    provider: str
    zone: str | None = None
    purchase: Literal["on_demand", "spot"] = "on_demand"
    slots: int
    slot_kind: SlotKind
    gpu: str | None = None
    memory_gib: float | None = None
    price_per_hour: float | None = None
    priced_on: date | None = None
    held: str | None = None
    held_until: datetime | None = None


class MachinePool(Record):
    """A pool of rented machines.

    `definition` None: the provisioner's settings define the pool. `fault`: what prevents the pool from growing. `spent`: amount spent this month.
    """

    pool: PoolName
    definition: PoolDefinition | None = None
    is_closing: bool = False
    minimum: int
    maximum: int
    instances: int
    fault: str | None = None
    spent: float = 0.0
    offers: tuple[OfferView, ...] = ()


class MachinePools(BaseModel):
    pools: tuple[MachinePool, ...]


class GetMachinePools(Query[MachinePools], owner="provisioner", name="pools"):
    """Return all pools by name, or one. An unknown pool gives an empty list."""

    pool: PoolName | None = None


class SetMachinePool(Query[MachinePools], owner="provisioner", name="set_pool"):
    """Create or change a pool, for the site. Raises Rejected with the invalid field.

    `is_new` true: only if no pool has this name. False: only if one has.
    """

    pool: PoolName
    definition: PoolDefinition
    is_new: bool


class CloseMachinePool(Query[MachinePools], owner="provisioner", name="close_pool"):
    """Release a pool's machines as their runs end, then remove the pool. Raises NotFound, and Rejected for a pool defined by the settings."""

    pool: PoolName


class MachineKinds(BaseModel):
    offers: tuple[OfferView, ...]


class GetMachineKinds(Query[MachineKinds], owner="provisioner", name="kinds"):
    """Return the whole catalogue."""


class Spending(Record):
    """Cost of the machines of one kind in a pool on one day (UTC).

    `hours`: machine hours. `slot_hours`: slot hours of these machines.
    """

    day: date
    pool: PoolName
    kind: str
    purchase: Literal["on_demand", "spot"]
    instances: int
    hours: float
    slot_hours: float = 0.0
    cost: float


class Spendings(BaseModel):
    rows: tuple[Spending, ...]


class GetSpending(Query[Spendings], owner="provisioner", name="spending"):
    """Return the cost ledger by day, pool, kind and purchase type, from `since` to `until` inclusive; at most 92 days."""

    since: date
    until: date


class IdentifyMachine(Query[IssuedJoin], owner="provisioner", name="identify"):
    """Check a rented machine's identity document, signed by its provider, and issue a join token for immediate use.

    Raises Rejected (`bad_identity`), and Transient while the machine is too new to be on record.
    """

    worker: WorkerId
    document: str
    signature: str


class EndedInstance(BaseModel):
    """An instance that is being terminated."""

    worker: WorkerId
    pool: PoolName
    state: str


class EndInstance(Query[EndedInstance], owner="provisioner", name="end_instance"):
    """Terminate a machine at once, for the site. Its runs resume elsewhere and are not charged for it. Raises NotFound."""

    instance_id: InstanceId
    reason: str
