"""Requests the trials that belong to no search: each at its time, until it has ended. `searching` covers trials
of a search, and `faults` changes desired states."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Closed, Fact
from services.scheduler.core.state.records.pool import DEFAULT_PRIORITY
from services.scheduler.core.state.records.trial import SlotNeeds, TrialRequest
from shared.ids import ExperimentId, PoolName, TenantId, TrialId, derived_id
from shared.messages.trial_specs import DesiredState
from simulator.bus import SimulatedStream
from simulator.control.scheduler_process import SchedulerMessage, TrialRequested
from simulator.event_queue import Act, EventQueue
from simulator.observers.observer import Observer
from simulator.trials import WorkloadTrial

ROOT = UUID("6d757374-6572-5000-8000-5e1ec7ed0000")


@dataclass(slots=True)
class Order:
    """A trial as its owner sees it. `closed`: the number of the newest request that is known to be closed."""

    item: WorkloadTrial
    request: TrialRequest
    closed: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed < self.request.request


class TrialOwner:
    """Requests each item of a workload at its time.

    Args:
        items: In any order; two with the same name are two trials.
    """

    def __init__(
        self,
        agenda: EventQueue,
        stream: SimulatedStream[SchedulerMessage],
        watch: Observer,
        items: Iterable[WorkloadTrial],
        pool: PoolName,
    ) -> None:
        self.orders: dict[TrialId, Order] = {}
        self.open = 0
        self._agenda = agenda
        self._stream = stream
        self._watch = watch
        self._pool = pool
        self._seen: set[int] = set()
        self._coming = sorted(enumerate(items), key=lambda pair: (pair[1].arrives_ms, pair[0]), reverse=True)

    @property
    def is_done(self) -> bool:
        """Whether all items have arrived and ended."""
        return not self._coming and self.open == 0

    @property
    def left(self) -> int:
        return len(self._coming) + self.open

    def begin(self) -> None:
        if self._coming:
            self._agenda.at(self._coming[-1][1].arrives_ms, self._arrive)

    def steer(self, trial: TrialId, wanted: DesiredState) -> None:
        """Change the desired state of a trial with a newer request version; a closed trial is run again with a
        new request."""
        order = self.orders[trial]
        request = order.request
        if not order.is_open:
            if wanted is not DesiredState.RUN:
                return
            self.open += 1
            request = replace(request, request=request.request + 1)
        order.request = replace(request, version=request.version + 1, desired_state=wanted)
        self._watch.on_request_changed(trial, wanted)
        self._want(order)

    def take(self, row: tuple[int, Fact], acknowledge: Act) -> None:
        """Handle a fact of the scheduler's stream; each row counts once."""
        number, fact = row
        order = self.orders.get(fact.trial.id) if isinstance(fact, Closed) else None
        if isinstance(fact, Closed) and order is not None and number not in self._seen:
            self._seen.add(number)
            request = fact.trial.request.request
            if request > order.closed:
                order.closed = request
                self.open -= request == order.request.request
            self._watch.on_closed(fact)
        acknowledge()

    def _arrive(self) -> None:
        now_ms = self._agenda.now_ms
        while self._coming and self._coming[-1][1].arrives_ms <= now_ms:
            number, item = self._coming.pop()
            order = Order(item, request_of(item, number, self._pool))
            self.orders[order.request.trial] = order
            self.open += 1
            self._watch.on_arrived(order.request.trial, order.request.tenant, item)
            self._want(order)
        self.begin()

    def _want(self, order: Order) -> None:
        item = order.item
        policy = ExperimentPolicy(
            item.priority or DEFAULT_PRIORITY,
            item.weight,
            item.experiment_max_slots,
            None,
            item.max_concurrent_trials,
        )
        self._stream.publish(TrialRequested(order.request, policy))


def tenant_id(name: str) -> TenantId:
    return TenantId(derived_id(ROOT, "tenant", name))


def request_of(item: WorkloadTrial, number: int, pool: PoolName) -> TrialRequest:
    """Return the first request of item `number`."""
    tenant = tenant_id(item.tenant)
    experiment = item.experiment or f"{item.workspace}:{item.user}:{number}"
    return TrialRequest(
        trial=TrialId(derived_id(ROOT, "trial", number)),
        tenant=tenant,
        experiment=ExperimentId(derived_id(tenant, "experiment", experiment)),
        version=1,
        request=1,
        desired_state=DesiredState.RUN,
        decide_at=None,
        needs=SlotNeeds(
            item.min_slots,
            item.max_slots,
            single_node=item.single_node,
            fraction=item.fraction,
            where=item.where,
        ),
        pool=pool,
        max_restarts=item.max_restarts,
        number=number,
        workspace=item.workspace,
        owner=item.user,
    )
