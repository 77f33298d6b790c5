"""Observers: invariants and measures. They do not modify anything, so a simulation is the same with and without
them."""

from collections.abc import Collection, Sequence

from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.planning.plan import SchedulingPlan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Closed
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.unsaved import Unsaved
from services.searcher.core.reducers.changes import Decision
from shared.ids import TenantId, TrialId, WorkerId
from shared.messages.trial_specs import DesiredState
from simulator.experiments.submission import Submission
from simulator.trials import WorkloadTrial


class Observer:
    """The observable events; each method is called right after its event."""

    def on_arrived(self, trial: TrialId, tenant: TenantId, item: WorkloadTrial) -> None:
        """A trial is requested for the first time."""

    def on_cycle(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        """A leader has planned and applied the plan, which is not saved yet."""

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        """A cycle was saved: its facts are final."""

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        """A decision of a search was saved."""

    def on_machines(self, spec: PoolSpec, live: Sequence[Instance], present: Collection[WorkerId]) -> None:
        """The provisioner has completed a pass: the recorded machines, and those that exist."""

    def on_ended(self, instance: Instance) -> None:
        """The provisioner is about to end a machine."""

    def on_closed(self, closed: Closed) -> None:
        """The searcher has received the end of a request."""

    def on_request_changed(self, trial: TrialId, wanted: DesiredState) -> None:
        """The desired state of a trial has changed."""

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        """A machine has started its ranks of a run."""

    def on_training(self, run: Run) -> None:
        """Every member of a gang has started."""

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        """A machine's ranks of a run have ended; `cause` is one word."""

    def on_trouble(self, worker: WorkerId) -> None:
        """A machine, or its connection to the bus, has failed."""

    def on_machine_removed(self, worker: WorkerId) -> None:
        """A machine was removed."""

    def on_restored(self, trial: TrialId, token: int) -> None:
        """The registry has answered from which checkpoint a run resumes."""

    def on_written(self, trial: TrialId, token: int) -> None:
        """The registry has accepted a checkpoint."""

    def on_barred(self, run: Run) -> None:
        """The registry has learned that a run was lost or ended by force."""

    def on_settled(self, run: Run, checkpoint: int) -> None:
        """The registry has published that an announced checkpoint is stored or abandoned."""

    def on_stored(self, run: Run, validation: int, is_stale: bool) -> None:
        """The registry has stored a validation."""


class Observers(Observer):
    """Several observers, called in order."""

    def __init__(self, watches: Sequence[Observer]) -> None:
        self._all = tuple(watches)

    def on_arrived(self, trial: TrialId, tenant: TenantId, item: WorkloadTrial) -> None:
        for watch in self._all:
            watch.on_arrived(trial, tenant, item)

    def on_cycle(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        for watch in self._all:
            watch.on_cycle(cluster, planned)

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for watch in self._all:
            watch.on_commit(cluster, changes)

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        for watch in self._all:
            watch.on_decided(submission, decision)

    def on_machines(self, spec: PoolSpec, live: Sequence[Instance], present: Collection[WorkerId]) -> None:
        for watch in self._all:
            watch.on_machines(spec, live, present)

    def on_ended(self, instance: Instance) -> None:
        for watch in self._all:
            watch.on_ended(instance)

    def on_closed(self, closed: Closed) -> None:
        for watch in self._all:
            watch.on_closed(closed)

    def on_request_changed(self, trial: TrialId, wanted: DesiredState) -> None:
        for watch in self._all:
            watch.on_request_changed(trial, wanted)

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        for watch in self._all:
            watch.on_started(worker, run, slot_ids)

    def on_training(self, run: Run) -> None:
        for watch in self._all:
            watch.on_training(run)

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        for watch in self._all:
            watch.on_stopped(worker, run, cause)

    def on_trouble(self, worker: WorkerId) -> None:
        for watch in self._all:
            watch.on_trouble(worker)

    def on_machine_removed(self, worker: WorkerId) -> None:
        for watch in self._all:
            watch.on_machine_removed(worker)

    def on_restored(self, trial: TrialId, token: int) -> None:
        for watch in self._all:
            watch.on_restored(trial, token)

    def on_written(self, trial: TrialId, token: int) -> None:
        for watch in self._all:
            watch.on_written(trial, token)

    def on_barred(self, run: Run) -> None:
        for watch in self._all:
            watch.on_barred(run)

    def on_settled(self, run: Run, checkpoint: int) -> None:
        for watch in self._all:
            watch.on_settled(run, checkpoint)

    def on_stored(self, run: Run, validation: int, is_stale: bool) -> None:
        for watch in self._all:
            watch.on_stored(run, validation, is_stale)
