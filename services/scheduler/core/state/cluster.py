"""The scheduler's in-memory state: pools, workers, requests and runs. Only events change it, and equal events
produce equal states.

Events are reducers: they read the cluster and return `Changes`. `apply` updates the records, then the derived
indexes, then the collection of what must be saved, published and sent (`unsaved`). The only other writers are
policy changes and a new leader that loads its records.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from services.scheduler.core.state.changes import (
    Changes,
    NewQuota,
    Rule,
    SetExperimentPolicy,
    SetReservation,
    SetSpending,
)
from services.scheduler.core.state.indexes.decay import STEP_MS
from services.scheduler.core.state.indexes.elastic.records import Report
from services.scheduler.core.state.indexes.pause_durations import PauseDurations
from services.scheduler.core.state.indexes.pool import Pool, capacity_of
from services.scheduler.core.state.indexes.queue import ExperimentPolicy, milliseconds
from services.scheduler.core.state.indexes.run_durations import RunDurations
from services.scheduler.core.state.indexes.runs_by_worker import RunsByWorker
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.indexes.usage_ledger import UsageLedger
from services.scheduler.core.state.indexes.workers_by_machine import WorkersByMachine
from services.scheduler.core.state.indexes.yield_times import YieldTimes
from services.scheduler.core.state.records.pool import Path, PoolPolicy, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.run_states import RunState
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.core.state.records.worker import Liveness, SlotHold, Worker
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.trial_specs import DesiredState


class Cluster:
    """See the module. `unsaved` collects changes until `take_unsaved`."""

    def __init__(self) -> None:
        self.pools: dict[PoolName, Pool] = {}
        self.workers: dict[WorkerId, Worker] = {}
        self.trials: dict[TrialId, Trial] = {}
        self.runs: dict[RunId, Run] = {}
        self.policies: dict[ExperimentId, ExperimentPolicy] = {}
        self.live: dict[ExperimentId, dict[TrialId, None]] = {}
        self.awaiting: dict[TrialId, None] = {}
        self.ending: dict[RunId, None] = {}
        self.forming: dict[RunId, None] = {}
        self.machines = RunsByWorker()
        self.runs_on = self.machines.runs_on
        self.workers_by_machine = WorkersByMachine()
        self.closed: dict[WorkerId, None] = {}
        self.ledger = UsageLedger()
        self.yield_times = YieldTimes()
        self.run_durations, self.pause_durations = RunDurations(), PauseDurations()
        self.now_ms = 0
        self.unsaved = Unsaved()

    def advance_to(self, now: datetime) -> None:
        """Advance the clock. Usage accrues continuously; fair shares and preemption rights change in steps of
        `STEP_MS`."""
        now_ms = milliseconds(now)
        if now_ms // STEP_MS != self.now_ms // STEP_MS:
            for name, pool in self.pools.items():
                if pool.moves_in_steps:
                    self.unsaved.pools[name] = None
                pool.pass_time(now_ms)
        self.now_ms = now_ms

    def apply(self, changes: Changes) -> None:
        """Apply the changes of one event.

        The order matters: slots are released before they are charged, and a run's record is updated before its
        trial, which may return to the queue.
        """
        # 1. Policies, quotas, reservations, budgets.
        for rule in changes.rules:
            self._rule(rule)
        # 2. Workers, and what occupies their slots.
        if changes.quiet_workers:
            self.workers |= changes.quiet_workers
        if changes.workers:
            for worker in changes.workers.values():
                self.put_worker(worker)
            self.unsaved.workers |= changes.worker_rows
        for worker_id, allocation, hold in changes.holds:
            self.workers[worker_id].hold(allocation, hold)
            self.put_worker(self.workers[worker_id])
        for worker_id, held in changes.releases:
            self._release(self.workers[worker_id], held)
        # 3. Runs: their workers, their charges, and whether the next tick must check them.
        if changes.followed:
            for run in changes.followed.values():
                self.follow(run)
        lazy = changes.lazy
        for name, run in changes.runs.items():
            self.put_run(run, lazily=bool(lazy) and name in lazy)
        # 4. Usage, and learned durations.
        for run, since in changes.usage_starts:
            self.ledger.begin(run, since, self.pools[run.pool].policy.price_per_slot_hour)
        for pool, experiment, held_ms in changes.held:
            self.run_durations.add(pool, experiment, held_ms)
        for experiment, kind, took_ms in changes.paused:
            if self.pause_durations.add(experiment, kind, took_ms):
                self._reckon(experiment)
        for trial_id, report in changes.reports:
            self._report(trial_id, report)
        # 5. Requests: enter or leave the queue.
        for trial_id, trial in changes.trials.items():
            self.put_trial(trial, lazily=bool(lazy) and trial_id in lazy)
        # 6. What to publish and send.
        self.unsaved.facts += changes.facts
        self.unsaved.desired |= changes.desired

    def take_unsaved(self) -> Unsaved:
        """Return the changes since the last call and start a new collection."""
        taken, self.unsaved = self.unsaved, Unsaved()
        return taken

    def raise_version(self, worker: WorkerId) -> Worker:
        """Raise the worker's version and return the record to publish."""
        risen = replace(self.workers[worker], version=self.workers[worker].version + 1)
        self.workers[worker] = risen
        self.unsaved.workers[worker] = None
        return risen

    def put_pool(self, policy: PoolPolicy) -> None:
        """Add a pool or replace its policy. Waiting requests and runs stay."""
        pool = self.pools.get(policy.name)
        if pool is None:
            pool = self.pools[policy.name] = Pool(policy, capacity_of(policy), self.yield_times)
        pool.apply_policy(policy, self.now_ms)
        for worker in list(self.workers.values()):
            if worker.pool == policy.name:
                self.put_worker(worker)
        self.unsaved.pools[policy.name] = None

    def put_quota(self, name: PoolName, path: Path, quota: Quota | None) -> None:
        """Set the quota of a tenant, or of one of its workspaces; None removes it."""
        self.pools[name].shares.put_quota(path, quota)
        self.unsaved.pools[name] = None

    def policy_of(self, trial: Trial) -> ExperimentPolicy:
        """Return the experiment's policy, or the pool's default."""
        policy = self.policies.get(trial.request.experiment)
        return policy or ExperimentPolicy(self.pools[trial.request.pool].policy.default_priority)

    def pool_of(self, trial: Trial) -> PoolName:
        """Return the pool of the trial's next run; the experiment may have been moved."""
        policy = self.policies.get(trial.request.experiment)
        return policy.pool if policy and policy.pool else trial.request.pool

    def put_trial(self, trial: Trial, lazily: bool = False) -> None:
        """Store a trial's new record and update the queue of its pool."""
        name, experiment = trial.request.trial, trial.request.experiment
        before = self.trials.get(name)
        if before is not None:
            self._count_waiting(before, -1)
        self.trials[name] = trial
        self._count_waiting(trial, +1)
        self.yield_times.follow(trial)
        live = self.live.setdefault(experiment, {})
        if trial.is_closed:
            live.pop(name, None)
            for pool in self.pools.values():
                pool.elastic.forget(name)
            if not live:
                del self.live[experiment]
                self.run_durations.forget(self.pools, experiment)
                self.pause_durations.forget(experiment)
        else:
            live[name] = None
        run = self.runs.get(trial.run) if trial.run else None
        if run is not None and (before is None or before.request is not trial.request):
            self._charge(run)  # the new desired state may stop the run
        (self.unsaved.lazy_trials if lazily else self.unsaved.trials)[name] = None

    def put_experiment_policy(self, experiment: ExperimentId, policy: ExperimentPolicy) -> None:
        """Set the policy of an experiment. If its pool changes, its requests move to the new queue."""
        before = self.policies.get(experiment)
        is_moved = (before.pool if before else None) != policy.pool
        trials = [self.trials[trial] for trial in self.live.get(experiment, {})] if is_moved else []
        for trial in trials:
            self._count_waiting(trial, -1)
        self.policies[experiment] = policy
        for name, pool in self.pools.items():
            leaf = pool.shares.leaves.get(experiment)
            if leaf is not None:
                pool.rank(leaf, policy)
                self.unsaved.pools[name] = None
                self._touch_all(pool, leaf)
        for trial in trials:
            self._count_waiting(trial, +1)

    def put_run(self, run: Run, lazily: bool = False) -> None:
        """Store a run's new record. It is charged to its experiment until it holds no slots."""
        name, pool = run.grant.id, self.pools[run.grant.pool]
        before, self.runs[name] = self.runs.get(name), run
        if run.is_over:
            pool.runs.pop(name, None)
        elif before is None:
            pool.runs[name] = None
        if self.machines.stand(before, run):
            self._occupy(run)
        self._await_ticks(run)
        self._charge(run)
        if run.asked is not None:
            pool.elastic.follow(run, self.trials.get(run.trial))
        if before is not None and run.progress.saved_at != before.progress.saved_at:
            self._touch(run)
        (self.unsaved.lazy_runs if lazily else self.unsaved.runs)[name] = None
        self.unsaved.pools[run.grant.pool] = None

    def put_worker(self, worker: Worker) -> None:
        """Store a worker's new record."""
        self.machines.touch_all_of(worker.id)
        self._put_worker(worker)

    def follow(self, run: Run) -> None:
        """Store a run's progress. No plan depends on it, except for the work that a preemption would lose."""
        before = self.runs[run.id]
        self.runs[run.id] = run
        if run.progress.saved_at != before.progress.saved_at:
            self._touch(run)

    def forget(self, runs: Iterable[RunId] = (), trials: Iterable[TrialId] = ()) -> None:
        """Drop ended runs and closed trials from memory; the tables keep them."""
        for run_id in list(runs):
            del self.runs[run_id]
        for trial_id in list(trials):
            del self.trials[trial_id]

    def _occupy(self, run: Run) -> None:
        allocation, tenant = run.grant.allocation, run.grant.tenant
        for share in run.gang.shares:
            worker = self.workers.get(share.worker)
            if worker is not None and share.worker not in run.gang.released:
                worker.hold(allocation, SlotHold(tenant, share.slot_ids, share.fraction))
                self.machines.touch(worker.id, run)

    def _release(self, worker: Worker, held: Run | AllocationId) -> None:
        if not isinstance(held, Run):
            if worker.release(held):
                self.put_worker(worker)
        elif worker.release(held.allocation):
            self.machines.touch(worker.id, held)
            self._put_worker(worker)

    def _await_ticks(self, run: Run) -> None:
        """Track gangs that must end or form within a time limit."""
        if run.state is RunState.ENDING:
            self.ending[run.id] = None
        elif self.ending:
            self.ending.pop(run.id, None)
        if run.is_forming:
            self.forming[run.id] = None
        elif self.forming:
            self.forming.pop(run.id, None)

    def _reckon(self, experiment: ExperimentId) -> None:
        """Refresh the experiment's runs after their preemption cost has changed."""
        for trial in self.live.get(experiment, {}):
            if (run := self.trials[trial].run) in self.runs:
                self._touch(self.runs[run])

    def _rule(self, rule: Rule) -> None:
        match rule:
            case SetExperimentPolicy(experiment, policy):
                self.put_experiment_policy(experiment, policy)
            case NewQuota(pool, path, quota):
                self.put_quota(pool, path, quota)
            case SetReservation(pool, name, None):
                del self.pools[pool].reservations[name]
                self.unsaved.pools[pool] = None
            case SetReservation(pool, name, Reservation() as reservation):
                self.pools[pool].reservations[name] = reservation
                self.unsaved.pools[pool] = None
            case SetSpending(spending):
                moved = [name for name, pool in self.pools.items() if pool.apply_spending(spending)]
                self.unsaved.pools |= dict.fromkeys(moved)

    def _report(self, name: TrialId, report: Report) -> None:
        trial = self.trials.get(name)
        if trial is not None:
            self.pools[self.pool_of(trial)].elastic.learn(name, report)

    def is_exclusive(self, worker: WorkerId) -> bool:
        """Whether the worker is in an exclusive pool."""
        pool = self.pools.get(self.workers[worker].pool)
        return pool is not None and pool.policy.exclusive

    def _put_worker(self, worker: Worker) -> None:
        self.workers[worker.id] = worker
        for other in self.workers_by_machine.put(worker):
            self.machines.touch_all_of(other)
        for other in self.workers_by_machine.others(worker.id):
            if (pool_of_other := self.workers[other].pool) in self.pools:
                self.unsaved.pools[pool_of_other] = None
        self.unsaved.holders[worker.id] = None
        pool = self.pools.get(worker.pool)
        is_refused = pool is not None and pool.policy.refusal_of(worker) is not None
        if worker.liveness is Liveness.READY and (worker.is_emptying or worker.trouble or is_refused):
            self.closed[worker.id] = None
        else:
            self.closed.pop(worker.id, None)
        if pool is not None:
            pool.await_heartbeat(worker)
            self.unsaved.pools[worker.pool] = None

    def _count_waiting(self, trial: Trial, sign: int) -> None:
        if trial.state not in (RequestState.QUEUED, RequestState.AWAITING):
            return
        policy = self.policies.get(trial.request.experiment)
        name = policy.pool if policy and policy.pool else trial.request.pool
        pool = self.pools.get(name)
        if pool is None:
            return
        self.unsaved.pools[name] = None
        pool.count(trial, policy or ExperimentPolicy(pool.policy.default_priority), sign)
        if trial.state is RequestState.AWAITING:
            self.awaiting.pop(trial.id, None) if sign < 0 else self.awaiting.setdefault(trial.id)

    def _charge(self, run: Run) -> None:
        grant = run.grant
        pool = self.pools[grant.pool]
        if run.is_over and grant.id not in pool.charges:
            return
        trial = self.trials.get(grant.trial)
        leaf = pool.shares.leaves.get(grant.experiment)
        if leaf is None:
            leaf = pool.leaf(
                grant, self.policies.get(grant.experiment) or ExperimentPolicy(pool.policy.default_priority)
            )
        if not pool.charge(run, leaf, is_leaving(run, trial), self.now_ms):
            return
        if trial is not None and trial.request.needs.is_elastic and not trial.is_closed:
            charge = pool.charges.get(grant.id)
            pool.elastic.hold(trial.id, int(charge.slots) if charge else 0, self.now_ms)
        self._touch(run)

    def _touch_all(self, pool: Pool, leaf: ShareNode) -> None:
        for run, charge in pool.charges.items():
            if charge.leaf is leaf:
                self._touch(self.runs[run])

    def _touch(self, run: Run) -> None:
        for share in run.shares if self.pools[run.pool].later is not None else ():
            self.machines.touch(share.worker, run)


def is_leaving(run: Run, trial: Trial | None) -> bool:
    """Whether the run was asked to end or is ending."""
    if run.state is not RunState.ACTIVE:
        return True
    return trial is None or trial.request.desired_state is not DesiredState.RUN
