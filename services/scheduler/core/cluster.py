"""The scheduler's world in memory: pools, workers, requests, runs. Advanced by events alone; equal events make equal worlds.

The events are functions beside it (`wishes`, `ends`, `heard`, `grants`); they change it through the methods here, which keep
the indexes true and remember what changed, so that the cycle saves and tells just that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from services.scheduler.core.capacity import Capacity, Spot
from services.scheduler.core.facts import Fact
from services.scheduler.core.holdings import Holding, Ledger
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.queue import Part, Queue, Usage
from services.scheduler.core.run import Run
from services.scheduler.core.trial import Needs, RequestState, Trial
from services.scheduler.core.worker import Hold, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId


@dataclass(slots=True)
class Pool:
    """One pool's indexes. `waiting_slots` is what could be used beyond what stands, capped by each `max_slots`."""

    policy: PoolPolicy
    capacity: Capacity
    queue: Queue = field(default_factory=Queue)
    runs: dict[RunId, None] = field(default_factory=dict)
    usage: dict[ExperimentId, Usage] = field(default_factory=dict)
    single_node: dict[int, int] = field(default_factory=dict)
    waiting_slots: int = 0
    waiting_auxiliary: int = 0
    awaiting_slots: int = 0


@dataclass(slots=True)
class Changes:
    """What events have changed since the last cycle took it. `lazy_…` may be saved with whatever is saved next: heartbeats
    and stored wishes tell it again."""

    facts: list[Fact] = field(default_factory=list)
    trials: dict[TrialId, None] = field(default_factory=dict)
    runs: dict[RunId, None] = field(default_factory=dict)
    workers: dict[WorkerId, None] = field(default_factory=dict)
    desired: dict[WorkerId, None] = field(default_factory=dict)
    pools: dict[PoolName, None] = field(default_factory=dict)
    holders: dict[WorkerId, None] = field(default_factory=dict)
    holdings: list[Holding] = field(default_factory=list)
    lazy_trials: dict[TrialId, None] = field(default_factory=dict)
    lazy_runs: dict[RunId, None] = field(default_factory=dict)


class Cluster:
    """See the module. `changes` collects until `take_changes`."""

    def __init__(self) -> None:
        self.pools: dict[PoolName, Pool] = {}
        self.workers: dict[WorkerId, Worker] = {}
        self.trials: dict[TrialId, Trial] = {}
        self.runs: dict[RunId, Run] = {}
        self.parts: dict[ExperimentId, Part] = {}
        self.live: dict[ExperimentId, dict[TrialId, None]] = {}
        self.awaiting: dict[TrialId, None] = {}
        self.partly_ended: dict[RunId, None] = {}
        self.runs_on: dict[WorkerId, dict[RunId, None]] = {}
        self.ledger = Ledger()
        self.changes = Changes()

    def take_changes(self) -> Changes:
        """What changed since the last call; the next collection begins empty."""
        taken, self.changes = self.changes, Changes()
        return taken

    def tell(self, fact: Fact) -> None:
        """Remembers what a neighbour must learn, in order."""
        self.changes.facts.append(fact)

    def put_pool(self, policy: PoolPolicy) -> None:
        """A new pool, or a new policy of one; what waits and runs stays."""
        pool = self.pools.get(policy.name)
        if pool is None:
            self.pools[policy.name] = Pool(policy, Capacity(policy.exclusive))
        else:
            pool.policy, pool.capacity = policy, Capacity(policy.exclusive)
        for worker in list(self.workers.values()):
            if worker.pool == policy.name:
                self.put_worker(worker)
        self.changes.pools[policy.name] = None

    def part_of(self, trial: Trial) -> Part:
        """The experiment's part in the queue; the default where none was set."""
        part = self.parts.get(trial.wish.experiment)
        return part or Part(self.pools[trial.wish.pool].policy.default_priority)

    def pool_of(self, trial: Trial) -> PoolName:
        """Where the trial's next run goes: its experiment may have been moved."""
        part = self.parts.get(trial.wish.experiment)
        return part.pool if part and part.pool else trial.wish.pool

    def put_trial(self, trial: Trial, lazily: bool = False) -> None:
        """Keeps a trial's new record; waiting ones stand in the queue of their pool."""
        before = self.trials.get(trial.id)
        if before is not None:
            self._count_waiting(before, -1)
        self.trials[trial.id] = trial
        self._count_waiting(trial, +1)
        live = self.live.setdefault(trial.wish.experiment, {})
        if trial.is_closed:
            live.pop(trial.id, None)
            if not live:
                del self.live[trial.wish.experiment]
        else:
            live[trial.id] = None
        (self.changes.lazy_trials if lazily else self.changes.trials)[trial.id] = None

    def put_part(self, experiment: ExperimentId, part: Part) -> None:
        """Changes priority, weight, cap or pool of an experiment; its requests move to their new place."""
        trials = [self.trials[trial] for trial in self.live.get(experiment, {})]
        for trial in trials:
            self._count_waiting(trial, -1)
        self.parts[experiment] = part
        for name, pool in self.pools.items():
            if experiment in pool.usage:
                self.changes.pools[name] = None
        for trial in trials:
            self._count_waiting(trial, +1)
        self._recount_demand()

    def put_run(self, run: Run, lazily: bool = False) -> None:
        """Keeps a run's new record; it counts against its experiment until it holds nothing."""
        before = self.runs.get(run.id)
        if before is not None:
            self._count_running(before, -1)
        self.runs[run.id] = run
        self._count_running(run, +1)
        pool = self.pools[run.pool]
        if run.is_ended and run.released >= run.workers:
            pool.runs.pop(run.id, None)
        else:
            pool.runs[run.id] = None
        for worker in run.workers:
            here = self.runs_on.setdefault(worker, {})
            if run.is_ended and worker in run.released:
                here.pop(run.id, None)
            else:
                here[run.id] = None
        if run.exits and not run.is_ended:
            self.partly_ended[run.id] = None
        else:
            self.partly_ended.pop(run.id, None)
        (self.changes.lazy_runs if lazily else self.changes.runs)[run.id] = None
        self.changes.pools[run.pool] = None

    def put_worker(self, worker: Worker) -> None:
        """Brings the pool's capacity in line with a worker that was changed."""
        self.workers[worker.id] = worker
        self.changes.holders[worker.id] = None
        pool = self.pools.get(worker.pool)
        if pool is None:
            return
        spot = None
        if worker.is_open:
            spot = Spot(
                kind=worker.kind,
                total=len(worker.slot_ids),
                free=len(worker.free_slot_ids),
                auxiliary=pool.policy.auxiliary_per_worker - worker.auxiliary,
                owner=worker.owner if pool.capacity.exclusive else None,
                holds=len(worker.held),
            )
        pool.capacity.set(worker.id, spot)
        self.changes.pools[worker.pool] = None

    def hold(self, run: Run) -> None:
        """Occupies the slots of a granted run."""
        for share in run.shares:
            worker = self.workers.get(share.worker)
            if worker is not None and share.worker not in run.released:
                worker.held[run.allocation] = Hold(run.tenant, share.slot_ids)
                self.put_worker(worker)

    def release(self, worker: Worker, allocation: AllocationId) -> None:
        """Frees what an allocation held on one worker."""
        if worker.held.pop(allocation, None) is not None:
            self.put_worker(worker)

    def forget(self, runs: Iterable[RunId] = (), trials: Iterable[TrialId] = ()) -> None:
        """Drops ended runs and closed trials from memory; the tables keep them."""
        for run_id in list(runs):
            del self.runs[run_id]
        for trial_id in list(trials):
            del self.trials[trial_id]

    def want(self, workers: Iterable[WorkerId]) -> None:
        """These workers' desired sets have changed."""
        for worker in workers:
            self.changes.desired[worker] = None

    def largest_single_node(self, pool: Pool) -> int:
        """The most slots that a waiting request needs on one machine."""
        return max(pool.single_node, default=0)

    def _count_waiting(self, trial: Trial, sign: int) -> None:
        name = self.pool_of(trial)
        pool = self.pools.get(name)
        if pool is None or trial.state not in (RequestState.QUEUED, RequestState.AWAITING):
            return
        slots = trial.wish.needs.max_slots
        self.changes.pools[name] = None
        if trial.state is RequestState.AWAITING:
            pool.awaiting_slots += sign * slots
            self.awaiting.pop(trial.id, None) if sign < 0 else self.awaiting.setdefault(trial.id)
            return
        if sign > 0:
            pool.queue.add(self.part_of(trial).priority, trial.place, trial.id)
        else:
            pool.queue.discard(trial.id)
        pool.waiting_auxiliary += sign * (slots == 0)
        self._count_single_node(pool, trial.wish.needs, sign)
        self._change_usage(pool, trial.wish.experiment, waiting=sign * slots)

    def _count_single_node(self, pool: Pool, needs: Needs, sign: int) -> None:
        if needs.single_node or not pool.policy.exclusive:
            count = pool.single_node.get(needs.max_slots, 0) + sign
            pool.single_node[needs.max_slots] = count
            if not count:
                del pool.single_node[needs.max_slots]

    def _count_running(self, run: Run, sign: int) -> None:
        held = sum(share.slots for share in run.shares if share.worker not in run.released)
        if held:
            self._change_usage(self.pools[run.pool], run.experiment, running=sign * held)

    def _change_usage(self, pool: Pool, experiment: ExperimentId, running: int = 0, waiting: int = 0) -> None:
        usage = pool.usage.setdefault(experiment, Usage())
        part = self.parts.get(experiment)
        cap = part.max_slots if part else None
        pool.waiting_slots -= usage.usable(cap)
        usage.running += running
        usage.waiting += waiting
        pool.waiting_slots += usage.usable(cap)
        if not usage.running and not usage.waiting:
            del pool.usage[experiment]

    def _recount_demand(self) -> None:
        for pool in self.pools.values():
            caps = {name: self.parts[name].max_slots if name in self.parts else None for name in pool.usage}
            pool.waiting_slots = sum(usage.usable(caps[name]) for name, usage in pool.usage.items())


def renewed(run: Run, **changes: object) -> Run:
    """The run with some fields changed and its public version risen."""
    return replace(run, version=run.version + 1, **changes)  # type: ignore[arg-type]
