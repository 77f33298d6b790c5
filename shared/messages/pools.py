"""Pools: what they need, what they have, and the view of the whole cluster."""

from typing import Literal

from pydantic import BaseModel

from shared.ids import PoolName
from shared.messages.base import Command, Event, Query, Record
from shared.messages.specs import SlotKind
from shared.messages.workers import WorkerView


class PoolDemand(Event, entity="pool", happened="demanded", key="pool", line="pool demand"):
    """scheduler → provisioner: slots that could be used now beyond what stands, and the largest single-machine need.
    `single_node_sizes`: how many requests wait for so many slots on one machine, the largest first. `unaffordable_slots`: wait too, and are not asked for,
    since the month's budgets of tenants or workspaces do not bear them."""

    pool: PoolName
    version: int
    waiting_slots: int
    used_slots: int
    idle_slots: int
    largest_single_node: int = 0
    slot_kind: SlotKind | None = None
    soon_slots: int = 0
    single_node_sizes: tuple[tuple[int, int], ...] = ()
    unaffordable_slots: int = 0


class PoolCapacity(Event, entity="pool", happened="measured", key="pool", line="pool capacity"):
    """scheduler → searcher, gateway: what a pool has. `expected_slots`: what may stand idle once all has left that was asked to, and the
    provider has brought what it can. `price_per_slot_hour`: of its provider's machines; None: nothing is known."""

    pool: PoolName
    version: int
    slots: int
    used_slots: int
    waiting_slots: int
    expected_slots: int = 0
    idle_slots: int = 0
    price_per_slot_hour: float | None = None


class PoolRules(Record):
    """How a pool is shared: who goes first, who may be asked for slots, and how soon; and on which machines runs go.
    The defaults are those of a pool that nobody has configured, as in the scheduler's core."""

    order: Literal["fifo", "priority", "fair_share"] = "fair_share"
    preemption: bool = True
    elastic: bool = True
    default_priority: int = 42
    ageing_s: float | None = None
    half_life_s: float = 86_400.0
    min_run_s: float = 0.0
    max_preemptions: int | None = None
    quantum_s: float | None = 600.0
    defragment: bool = False
    topology: tuple[str, ...] = ()
    placement: Literal["best_fit", "spread"] = "best_fit"


class EditPool(Command, owner="scheduler", verb="edit_pool"):
    """gateway → scheduler, for the site: from now on the pool has these rules, whatever waits and runs in it."""

    pool: PoolName
    rules: PoolRules


class PoolView(Record):
    pool: PoolName
    slot_kind: SlotKind | None
    workers: int
    slots: int
    used_slots: int
    waiting_slots: int
    preemption: bool
    exclusive: bool
    max_slots: int | None = None
    rules: PoolRules = PoolRules()


class ClusterView(BaseModel):
    pools: tuple[PoolView, ...]
    workers: tuple[WorkerView, ...]


class GetCluster(Query[ClusterView], owner="scheduler", name="snapshot"):
    """Pools and workers, without any tenant's content."""
