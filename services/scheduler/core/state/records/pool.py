"""The policy of a pool: which workers it accepts and how it schedules."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from services.scheduler.core.state.records.labels import Labels
from services.scheduler.core.state.records.worker import Worker
from shared.ids import DEFAULT_TENANT, PoolName, TenantId
from shared.messages.trial_specs import SlotKind

DEFAULT_PRIORITY = 42
DEFAULT_QUANTUM = timedelta(minutes=10)
FIRST_PRIORITY, LAST_PRIORITY = 1, 99

OrderName = Literal["fifo", "priority", "fair_share"]
PlacementRule = Literal["best_fit", "spread"]


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    """How a pool is scheduled. The defaults apply to a pool without configuration (decision 0259).

    Attributes:
        kind: Kind of slot that its workers offer; None accepts any.
        preemption: A waiting request may preempt runs that rank below it (`planning/preemption` defines which).
        exclusive: A machine serves one tenant at a time, whatever the number of its workers. Only then may gangs
            span workers, because the ranks' rendezvous has no authentication.
        trusted: Its workers need no sandbox, because it serves one tenant only: `tenant`.
        auxiliary_per_worker: How many runs without slots one worker accepts.
        max_slots: How far the pool can grow (None: unknown). Larger requests can never be placed.
        provided_kind: Kind of slot of its provider's machines (None: unknown).
        provided_labels: Labels of its provider's machines.
        is_closing: The provider is closing the pool. Once it is empty, it is hidden and accepts nothing.
        provider_fault: Why the provider cannot add machines; shown to waiting requests.
        price_per_slot_hour: Price of its provider's machines (None: unknown), reported to searches and used for
            usage costs.
        order: The queue order (`order/`).
        ageing: How long a request waits to gain one priority level; None: never (`priority` only).
        min_run: How long a run is safe from preemption.
        max_preemptions: How often a trial is preempted at most; None: unlimited.
        quantum: A run that has had its slots for this long, and has saved a checkpoint, yields them to a
            waiting peer (`planning/preemption/equals`); None: no time slicing.
        defragment: Runs are migrated so that enough free slots come together for a waiting request
            (`planning/preemption/moves`).
        elastic: Idle slots are given to elastic runs as extra slots (`elastic/`).
        topology: Label keys from narrow to wide, such as rack and zone. A gang stays within one domain if possible.
        placement: A run on one machine gets the fullest machine that fits (`best_fit`) or the emptiest (`spread`).
        half_life: After this time past usage counts half (`fair_share` only).
    """

    name: PoolName
    kind: SlotKind | None = None
    preemption: bool = True
    exclusive: bool = True
    trusted: bool = False
    tenant: TenantId = DEFAULT_TENANT
    auxiliary_per_worker: int = 100
    default_priority: int = DEFAULT_PRIORITY
    max_slots: int | None = None
    max_slots_per_worker: int | None = None
    provided_kind: SlotKind | None = None
    order: OrderName = "fair_share"
    ageing: timedelta | None = None
    min_run: timedelta = timedelta(0)
    max_preemptions: int | None = None
    quantum: timedelta | None = DEFAULT_QUANTUM
    defragment: bool = False
    half_life: timedelta = timedelta(days=1)
    elastic: bool = True
    topology: tuple[str, ...] = ()
    placement: PlacementRule = "best_fit"
    provided_labels: Labels = ()
    price_per_slot_hour: float | None = None
    is_closing: bool = False
    provider_fault: str | None = None

    @property
    def preempts(self) -> bool:
        """Whether runs may be asked for their slots."""
        return self.preemption or self.elastic or self.defragment or self.quantum is not None

    @property
    def only_tenant(self) -> TenantId | None:
        """The only tenant that it serves; None: it serves all."""
        return self.tenant if self.trusted else None

    def refusal_of(self, worker: Worker) -> str | None:
        """Return why a worker gets no runs of this pool, or None. A pool of several tenants needs their runs isolated."""
        if self.trusted or worker.isolation in (None, "sandbox"):
            return None
        return (
            f"pool {self.name} serves several tenants, and worker {worker.id} cannot isolate their runs"
            f" ({worker.isolation_detail or 'it reports no sandbox'});"
            " give the worker the rights that its log names, let it run containers only (MUSTER_WORKER__SANDBOX=container), or let the pool serve one tenant only with"
            f" `muster pool set {self.name} --trusted`"
        )


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of a tenant, or of one of its workspaces, in a pool, in slots.

    Attributes:
        guaranteed: Returned on demand in pools with preemption. Slots beyond it are borrowed.
        maximum: The most that it may hold; None: no limit.
        weight: Its weight among its siblings under `fair_share`.
    """

    guaranteed: int = 0
    maximum: int | None = None
    weight: float = 1.0


NO_QUOTA = Quota()

Path = tuple[object, ...]
"""Tenant, workspace, user, experiment; a prefix names an inner node. Requests without a workspace or user use
the defaults of `Wish`."""
