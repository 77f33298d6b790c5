"""What must hold after each event, whatever fails. Each invariant is a small one who looks on, with the words of what it guards;
the first breach ends the simulation."""

from collections.abc import Iterable, Mapping

from services.scheduler.core.changes import Changes
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.facts import Closed, Ended, Granted
from services.scheduler.core.plan import Plan
from services.scheduler.core.run import Run
from shared.ids import RunId, TrialId, WorkerId
from shared.messages.specs import Wanted
from simulator.watching.breach import Invariant
from simulator.watching.priority import PriorityNeverInverted
from simulator.watching.searches import EndsByTheRule, JournalRepeats, KeptConcurrency, OneVerdictEach
from simulator.watching.turns import WholeTurns


class OneGrantPerSlot(Invariant):
    """In the scheduler's tables: from the grant's commit until the worker has given the slots back, or the run has ended."""

    words = "at most one grant per slot at any time"

    def __init__(self) -> None:
        self._holder: dict[tuple[WorkerId, int], RunId] = {}

    def on_commit(self, cluster: Cluster, changes: Changes) -> None:
        for run_id in changes.runs | changes.lazy_runs:
            if run_id in cluster.runs:
                self._free(cluster.runs[run_id])
        for fact in changes.facts:
            if isinstance(fact, Granted):
                for slot in _slots(fact.run):
                    other = self._holder.setdefault(slot, fact.run.id)
                    if other != fact.run.id:
                        raise self.broken(f"slot {slot} of run {fact.run.id} is held by run {other}")

    def _free(self, run: Run) -> None:
        for slot in _slots(run):
            if (run.is_ended or slot[0] in run.released) and self._holder.get(slot) == run.id:
                del self._holder[slot]


class OneRunPerSlot(Invariant):
    """On the machines themselves: ranks of two runs never use one slot together."""

    words = "at most one grant per slot at any time"

    def __init__(self) -> None:
        self._user: dict[tuple[WorkerId, int], RunId] = {}

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        for slot in slot_ids:
            other = self._user.setdefault((worker, slot), run.id)
            if other != run.id:
                raise self.broken(f"run {run.id} starts on slot {slot} of {worker} beside run {other}")

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        for slot in [slot for slot, user in self._user.items() if slot[0] == worker and user == run.id]:
            del self._user[slot]


class NoStaleWrite(Invariant):
    """Once a run was told what it goes on from, no run before it changes that."""

    words = "no write of a stale token accepted"

    def __init__(self) -> None:
        self._newest: dict[TrialId, int] = {}

    def on_restored(self, trial: TrialId, token: int) -> None:
        self._newest[trial] = max(token, self._newest.get(trial, 0))

    def on_written(self, trial: TrialId, token: int) -> None:
        if token < self._newest.get(trial, 0):
            raise self.broken(f"token {token} of trial {trial} wrote after token {self._newest[trial]}")


class WholeGangs(Invariant):
    """All ranks are granted at once, and no member trains when the others are gone for good."""

    words = "gangs whole"

    def on_commit(self, cluster: Cluster, changes: Changes) -> None:
        for fact in changes.facts:
            if isinstance(fact, Granted):
                needs, run = fact.trial.wish.needs, fact.run
                if not needs.min_slots <= run.slots <= needs.max_slots:
                    raise self.broken(
                        f"run {run.id} has {run.slots} slots of {needs.min_slots} to {needs.max_slots}"
                    )
                if any(len(share.slot_ids) != share.slots for share in run.shares):
                    raise self.broken(f"run {run.id} does not name all its slots")
                if needs.single_node and len(run.shares) > 1:
                    raise self.broken(f"run {run.id} needs one machine and has {len(run.shares)}")


class KeptQuotas(Invariant):
    """No grant takes a tenant, a workspace or an experiment above what it may hold; what a member has given back counts no more."""

    words = "quotas kept"

    def on_commit(self, cluster: Cluster, changes: Changes) -> None:
        granted = [fact.run for fact in changes.facts if isinstance(fact, Granted)]
        if not granted:
            return
        held, runs = _holders(cluster)
        for run in granted:
            part = cluster.parts.get(run.experiment)
            self._check(run.experiment, held, part.max_slots if part else None)
            self._check(run.experiment, runs, part.max_trials if part else None)
            quotas = cluster.pools[run.pool].shares.quotas
            for path in ((run.tenant,), (run.tenant, run.workspace)):
                quota = quotas.get(path)
                self._check(path, held, quota.maximum if quota else None)

    def _check(self, holder: object, held: Mapping[object, int], most: int | None) -> None:
        if most is not None and held.get(holder, 0) > most:
            raise self.broken(f"{holder} holds {held[holder]} of at most {most}")


class NothingLost(Invariant):
    """Each request closes once: in the tables, and for the searcher. `check_end` counts when all is over."""

    words = "nothing lost: each request closes once"

    def __init__(self) -> None:
        self._closed: set[tuple[TrialId, int]] = set()
        self._known: set[tuple[TrialId, int]] = set()

    def on_commit(self, cluster: Cluster, changes: Changes) -> None:
        for fact in changes.facts:
            if isinstance(fact, Closed):
                self._once(self._closed, fact)

    def on_closed(self, closed: Closed) -> None:
        self._once(self._known, closed)

    def check_end(self, requests: Iterable[tuple[TrialId, int]]) -> None:
        """`requests`: the newest of each trial."""
        for trial, request in requests:
            if (trial, request) not in self._known:
                raise self.broken(f"request {request} of trial {trial} never closed")

    def _once(self, seen: set[tuple[TrialId, int]], closed: Closed) -> None:
        key = (closed.trial.id, closed.trial.wish.request)
        if key in seen:
            raise self.broken(f"request {key[1]} of trial {key[0]} closed twice")
        seen.add(key)


class NoHealthyRunKilled(Invariant):
    """A run ends by itself, as its owner or a more important one wants, or because a machine of its own really failed."""

    words = "no healthy run killed for the control plane's sake"

    def __init__(self) -> None:
        self._live: dict[RunId, Run] = {}
        self._excused: set[RunId] = set()
        self._ended: set[TrialId] = set()
        self.troubled: set[WorkerId] = set()
        """Machines that are failing now."""

    def on_trouble(self, worker: WorkerId) -> None:
        self._excused |= {run.id for run in self._live.values() if worker in run.workers}

    def on_commit(self, cluster: Cluster, changes: Changes) -> None:
        for fact in changes.facts:
            if isinstance(fact, Granted):
                self._live[fact.run.id] = fact.run
                if fact.run.workers & self.troubled:
                    self._excused.add(fact.run.id)
            elif isinstance(fact, Ended):
                self._judge_end(fact)

    def on_wished(self, trial: TrialId, wanted: Wanted) -> None:
        if wanted is not Wanted.RUN:
            self._ended.add(trial)

    def on_turn(self, cluster: Cluster, planned: Plan) -> None:
        self._excused |= {signal.run for signal in planned.signals}
        self._excused |= {resize.run for resize in planned.resizes}

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        if cause in ("exit", "power", "orphaned"):
            # What one member does by itself ends the others; and after half an hour nobody can be waiting for ranks.
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
    """One of each, for one simulation."""
    return [
        OneGrantPerSlot(),
        OneRunPerSlot(),
        NoStaleWrite(),
        WholeGangs(),
        KeptQuotas(),
        PriorityNeverInverted(),
        WholeTurns(),
        NothingLost(),
        NoHealthyRunKilled(),
        OneVerdictEach(),
        KeptConcurrency(),
        EndsByTheRule(),
        JournalRepeats(),
    ]


def _holders(cluster: Cluster) -> tuple[dict[object, int], dict[object, int]]:
    """Slots by experiment, tenant and workspace; live runs by experiment."""
    held: dict[object, int] = {}
    runs: dict[object, int] = {}
    for run in cluster.runs.values():
        if not run.is_ended:
            slots = sum(share.slots for share in run.shares if share.worker not in run.released)
            runs[run.experiment] = runs.get(run.experiment, 0) + 1
            for holder in (run.experiment, (run.tenant,), (run.tenant, run.workspace)):
                held[holder] = held.get(holder, 0) + slots
    return held, runs


def _slots(run: Run) -> list[tuple[WorkerId, int]]:
    return [(share.worker, slot) for share in run.shares for slot in share.slot_ids]
