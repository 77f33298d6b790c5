"""Pools of rented machines: as people define them, what they may rent, and what that has cost."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, Field

from muster.config.labels import Labels
from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.base import Query, Record
from shared.messages.specs import SlotKind
from shared.messages.workers import IssuedJoin


class PoolDefinition(Record):
    """What machines a pool may rent, and how many.

    Attributes:
        kinds: Of the catalogue, and `zones` of theirs (empty: all of them), in the order in which they are preferred with `order: given`.
        minimum, maximum: Machines; `maximum_slots`: also bounds them by slots.
        reserve_slots: Kept idle for what may come.
        spot_share: At most this share of the slots is on spot machines, and at least `on_demand_slots` are not. `falls_back`: others are taken
            where spot machines are not to be had.
        moves_runs: In a pool with spot machines, runs are asked to save and go on elsewhere once that has become cheaper for long enough to pay.
        patience_s: While more and more slots are asked for, renting waits so long at most, so that larger machines cover them.
        idle_timeout_s: A machine that was idle for so long goes; `join_timeout_s`: one that has not joined by then is given up.
        budget_per_month: Money, from the first of each month in UTC: no machine is launched that could pass it within the hour.
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
    patience_s: float = Field(0.0, ge=0, le=600)
    idle_timeout_s: float = Field(300.0, gt=0)
    join_timeout_s: float = Field(1200.0, gt=0)
    budget_per_month: float | None = Field(None, gt=0)
    labels: Labels = Field(default_factory=dict)


class OfferView(Record):
    """A kind of machine as it can be had somewhere. `held`: why none of it is asked for before `held_until`."""

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
    """A pool of rented machines. `definition` None: the provisioner's settings define it. `fault`: what keeps it from growing as it would; `spent`: this
    month, in money."""

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
    """All pools by name, or one; a pool that is not there is left out."""

    pool: PoolName | None = None


class SetMachinePool(Query[MachinePools], owner="provisioner", name="set_pool"):
    """Defines a pool, for the site. `is_new`: only if there is none of the name; false: only if there is. Raises Rejected with the field that cannot be."""

    pool: PoolName
    definition: PoolDefinition
    is_new: bool


class CloseMachinePool(Query[MachinePools], owner="provisioner", name="close_pool"):
    """Has a pool's machines go as their runs end, and then the pool. Raises NotFound, and Rejected for the pool of the settings."""

    pool: PoolName


class MachineKinds(BaseModel):
    offers: tuple[OfferView, ...]


class GetMachineKinds(Query[MachineKinds], owner="provisioner", name="kinds"):
    """The whole catalogue."""


class Spending(Record):
    """What machines of one kind of a pool have cost on one day (UTC). `hours`: that they stood; `slot_hours`: that their slots did."""

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
    """The ledger by day, pool, kind and purchase, from a day on to another, both counted; at most 92 days."""

    since: date
    until: date


class IdentifyMachine(Query[IssuedJoin], owner="provisioner", name="identify"):
    """Whether a rented machine that has not joined yet is the worker that it says it is, by what its provider has signed: then it gets a token to join
    with at once. Raises Rejected (`bad_identity`), and Transient while the machine is too new to be on record."""

    worker: WorkerId
    document: str
    signature: str


class EndedInstance(BaseModel):
    """An instance that is being ended."""

    worker: WorkerId
    pool: PoolName
    state: str


class EndInstance(Query[EndedInstance], owner="provisioner", name="end_instance"):
    """Ends a machine as it is, for the site, whatever runs there; its runs go on elsewhere, uncharged. Raises NotFound."""

    instance_id: InstanceId
    reason: str
