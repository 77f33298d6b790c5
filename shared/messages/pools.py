"""Pools: their demand and capacity, and a view of the whole cluster."""

from typing import Literal

from pydantic import BaseModel

from shared.ids import DEFAULT_TENANT, PoolName, TenantId
from shared.messages.base import Command, Event, Query, Record
from shared.messages.trial_specs import SlotKind
from shared.messages.workers import WorkerView


class PoolDemand(Event, entity="pool", happened="demanded", key="pool", line="pool demand"):
    """scheduler → provisioner: slots that could be used now beyond the existing capacity, and the largest single-machine request.

    `single_node_sizes`: pairs of slots per machine and number of waiting requests, largest first. `unaffordable_slots`: also wait, but are not
    requested because a tenant's or workspace's monthly budget does not cover them.
    """

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
    """scheduler → searcher: capacity of a pool.

    `expected_slots`: idle slots once all preempted runs have left and the provider has added what it can. `price_per_slot_hour`: of the
    provider's machines; None: unknown.
    """

    pool: PoolName
    version: int
    slots: int
    used_slots: int
    waiting_slots: int
    expected_slots: int = 0
    idle_slots: int = 0
    price_per_slot_hour: float | None = None


class PoolRules(Record):
    """Scheduling rules of a pool: queue order, preemption and placement. The defaults are those of a pool that was not configured.

    `trusted`: it serves only `tenant`, and its workers need no sandbox.
    """

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
    trusted: bool = False
    tenant: TenantId = DEFAULT_TENANT


class EditPool(Command, owner="scheduler", verb="edit_pool"):
    """gateway → scheduler, for the site: set the pool's rules, for its waiting and running requests too."""

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
    trusted: bool = False
    max_slots: int | None = None
    rules: PoolRules = PoolRules()


class ClusterView(BaseModel):
    pools: tuple[PoolView, ...]
    workers: tuple[WorkerView, ...]


class GetCluster(Query[ClusterView], owner="scheduler", name="snapshot"):
    """Return pools and workers, without content of any tenant."""
