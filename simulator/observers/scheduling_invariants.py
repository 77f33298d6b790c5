"""Invariants that must hold after each event, whatever fails. The first violation ends the simulation."""

from collections.abc import Iterable, Mapping

from services.scheduler.core.planning.plan import SchedulingPlan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Closed, Ended, Granted
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import RunId, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import WHOLE_SLOT, DesiredState, Thousandths
from simulator.observers.invariant import Invariant
from simulator.observers.machine_invariants import EndedEmpty, WithinMaximum
from simulator.observers.placement import WhereWanted
from simulator.observers.priority import PriorityNeverInverted
from simulator.observers.run_handover import AfterUploads, NoStaleWrite
from simulator.observers.searches import (
    HalvingRule,
    JournalRepeats,
    KeptConcurrency,
    NoStaleVerdict,
    OneVerdictEach,
)
from simulator.observers.time_slices import WholeTimeSlices

SHARED = "no slot is granted beyond its whole, or shared by two tenants"


class _Holders:
    """Which runs hold which slots, or fractions of them."""

    def __init__(self) -> None:
        self._on: dict[tuple[WorkerId, int], dict[RunId, tuple[TenantId, Thousandths]]] = {}
        self._of: dict[tuple[RunId, WorkerId], tuple[int, ...]] = {}

    def take(self, run: Run, worker: WorkerId, slot_ids: tuple[int, ...]) -> str | None:
        """Record a run's slots. Return what is wrong; None: nothing."""
        fraction = next(share.fraction for share in run.shares if share.worker == worker)
        self._of[run.id, worker] = slot_ids
        for slot in slot_ids:
            here = self._on.setdefault((worker, slot), {})
            here[run.id] = (run.tenant, fraction or WHOLE_SLOT)
            if (
                len({tenant for tenant, _ in here.values()}) > 1
                or sum(held for _, held in here.values()) > WHOLE_SLOT
            ):
                return f"slot {slot} of {worker} is held by {len(here)} runs: {', '.join(map(str, here))}"
        return None

    def leave(self, run: RunId, worker: WorkerId) -> None:
        for slot in self._of.pop((run, worker), ()):
            here = self._on[worker, slot]
            del here[run]
            if not here:
                del self._on[worker, slot]


class OneGrantPerSlot(Invariant):
    """In the scheduler's tables: from the commit of the grant until the worker has released the slots, or the
    run has ended."""

    rule = SHARED

    def __init__(self) -> None:
        self._holders = _Holders()

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for run_id in changes.runs | changes.lazy_runs:
            if run_id in cluster.runs:
                self._free(cluster.runs[run_id])
        for fact in changes.facts:
            if isinstance(fact, Granted):
                for share in fact.run.shares:
                    if fault := self._holders.take(fact.run, share.worker, share.slot_ids):
                        raise self.broken(fault)

    def _free(self, run: Run) -> None:
        for share in run.shares:
            if run.is_ended or share.worker in run.gang.released:
                self._holders.leave(run.id, share.worker)


class OneRunPerSlot(Invariant):
    """On the machines: ranks of two runs never use one slot at the same time, unless they share it and belong
    to one tenant."""

    rule = SHARED

    def __init__(self) -> None:
        self._users = _Holders()

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        if fault := self._users.take(run, worker, slot_ids):
            raise self.broken(fault)

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        self._users.leave(run.id, worker)


class WholeGangs(Invariant):
    """All ranks are granted together, and no member keeps training after the others are lost."""

    rule = "gangs whole"

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            if isinstance(fact, Granted):
                needs, run = fact.trial.request.needs, fact.run
                if not needs.least <= run.slots <= needs.most:
                    raise self.broken(f"run {run.id} has {run.slots} slots of {needs.least} to {needs.most}")
                if any(len(share.slot_ids) != share.slots for share in run.shares):
                    raise self.broken(f"run {run.id} does not name all its slots")
                if needs.single_node and len(run.shares) > 1:
                    raise self.broken(f"run {run.id} needs one machine and has {len(run.shares)}")


class KeptQuotas(Invariant):
    """No grant takes a tenant, a workspace or an experiment above its limit. Released slots do not count."""

    rule = "quotas kept"

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        granted = [fact.run for fact in changes.facts if isinstance(fact, Granted)]
        if not granted:
            return
        held, runs = _holders(cluster)
        for run in granted:
            policy = cluster.policies.get(run.experiment)
            self._check(run.experiment, held, policy.max_slots if policy else None)
            self._check(run.experiment, runs, policy.max_trials if policy else None)
            quotas = cluster.pools[run.pool].shares.quotas
            for path in ((run.tenant,), (run.tenant, run.grant.workspace)):
                quota = quotas.get(path)
                self._check(path, held, quota.maximum if quota else None)

    def _check(self, holder: object, held: Mapping[object, SlotCount], most: int | None) -> None:
        if most is not None and held.get(holder, 0) > most:
            raise self.broken(f"{holder} holds {held[holder]} of at most {most}")


class NothingLost(Invariant):
    """Each request closes once, in the tables and for the searcher. `check_end` checks it at the end."""

    rule = "nothing lost: each request closes once"

    def __init__(self) -> None:
        self._closed: set[tuple[TrialId, int]] = set()
        self._known: set[tuple[TrialId, int]] = set()

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            if isinstance(fact, Closed):
                self._once(self._closed, fact)

    def on_closed(self, closed: Closed) -> None:
        self._once(self._known, closed)

    def check_end(self, requests: Iterable[tuple[TrialId, int]]) -> None:
        """`requests`: the newest of each trial."""
        for trial, request in self.missing(requests):
            raise self.broken(f"request {request} of trial {trial} never closed")

    def missing(self, requests: Iterable[tuple[TrialId, int]]) -> list[tuple[TrialId, int]]:
        """Return the requests whose end the searcher has not received."""
        return [one for one in requests if one not in self._known]

    def _once(self, seen: set[tuple[TrialId, int]], closed: Closed) -> None:
        key = (closed.trial.id, closed.trial.request.request)
        if key in seen:
            raise self.broken(f"request {key[1]} of trial {key[0]} closed twice")
        seen.add(key)


class NoHealthyRunKilled(Invariant):
    """A run ends by itself, because its owner or a more important request wants it, or because one of its
    machines really failed."""

    rule = "no healthy run killed for the control plane's sake"

    def __init__(self) -> None:
        self._live: dict[RunId, Run] = {}
        self._excused: set[RunId] = set()
        self._ended: set[TrialId] = set()
        self._removed: set[WorkerId] = set()
        self.troubled: set[WorkerId] = set()
        """Machines that are failing now."""

    def on_trouble(self, worker: WorkerId) -> None:
        self._excused |= {run.id for run in self._live.values() if worker in run.workers}

    def on_machine_removed(self, worker: WorkerId) -> None:
        self.on_trouble(worker)
        self._removed.add(worker)

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            if isinstance(fact, Granted):
                self._live[fact.run.id] = fact.run
                if fact.run.workers & (self.troubled | self._removed):
                    self._excused.add(fact.run.id)
            elif isinstance(fact, Ended):
                self._judge_end(fact)

    def on_request_changed(self, trial: TrialId, wanted: DesiredState) -> None:
        if wanted is not DesiredState.RUN:
            self._ended.add(trial)

    def on_cycle(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        self._excused |= {signal.run for signal in planned.signals}
        self._excused |= {resize.run for resize in planned.resizes}

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        if cause in ("exit", "power", "orphaned"):
            # One member's exit ends the others; and after half an hour no gang waits for its ranks.
            self._excused.add(run.id)
        elif run.id not in self._excused and run.trial not in self._ended:
            raise self.broken(f"run {run.id} was ended on {worker}: {cause}")

    def _judge_end(self, fact: Ended) -> None:
        run = fact.run
        del self._live[run.id]
        if fact.ending.outcome == "lost" and run.id not in self._excused:
            raise self.broken(f"run {run.id} was given up: {fact.ending.reason}")
        self._excused.add(run.id)


def all_invariants() -> list[Invariant]:
    """Return one of each, for one simulation."""
    return [
        OneGrantPerSlot(),
        OneRunPerSlot(),
        NoStaleWrite(),
        AfterUploads(),
        WholeGangs(),
        WhereWanted(),
        KeptQuotas(),
        PriorityNeverInverted(),
        WholeTimeSlices(),
        NothingLost(),
        NoHealthyRunKilled(),
        OneVerdictEach(),
        NoStaleVerdict(),
        KeptConcurrency(),
        HalvingRule(),
        JournalRepeats(),
        WithinMaximum(),
        EndedEmpty(),
    ]


def _holders(cluster: Cluster) -> tuple[dict[object, SlotCount], dict[object, SlotCount]]:
    """Return the slots by experiment, tenant and workspace, and the live runs by experiment."""
    held: dict[object, SlotCount] = {}
    runs: dict[object, SlotCount] = {}
    for run in cluster.runs.values():
        if not run.is_ended:
            slots = sum(share.charged for share in run.shares if share.worker not in run.gang.released)
            runs[run.experiment] = runs.get(run.experiment, 0) + 1
            for holder in (run.experiment, (run.tenant,), (run.tenant, run.grant.workspace)):
                held[holder] = held.get(holder, 0) + slots
    return held, runs
