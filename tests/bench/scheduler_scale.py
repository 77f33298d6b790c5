"""The planner at the size of a large site: 12,500 machines of 8 slots, 95 % full, 100,000 trials of 1 to 256 slots waiting in 200 tenants.

The pool rules by fair share with quotas, backfill and preemption. First full plans: all indexes built from the records as the tables
give them, and the plan. Then one change at a time: a trial ends, one arrives, and what was asked for its slots gives them back. Then as
many at a time as a busy second brings. It is the pure core, driven by the very turn that service and simulator take.
"""

import gc
import random
import resource
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from services.scheduler.core.cluster import Cluster
from services.scheduler.core.events import ends, wishes
from services.scheduler.core.plan import plan
from services.scheduler.core.pool import PoolPolicy, Quota
from services.scheduler.core.queue import Part
from services.scheduler.core.run import Exit, Run, Share
from services.scheduler.core.run_states import RunState
from services.scheduler.core.trial import Needs, RequestState, Trial, Wish
from services.scheduler.core.turn import Turn, take_turn
from services.scheduler.core.worker import Hold, Liveness, Worker
from shared.garbage import collect_rarely
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.specs import Signal, Wanted
from shared.pages import use_large_pages
from tests.bench.harness import Figures, Report, percentile, run

SEED = 7
MACHINES, SLOTS = 12_500, 8
FULL = 0.95
TENANTS, EXPERIMENTS = 200, 20
WAITING = 100_000
GANGS = {1: 30, 2: 15, 3: 5, 4: 15, 8: 15, 12: 2, 16: 8, 32: 4, 64: 3, 128: 2, 256: 1}
FULL_PLANS = 3
DELTAS = 1_000
BATCH, PLACEMENTS = 500, 20_000
POOL = PoolName("big")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = PoolPolicy(
    POOL,
    order="fair_share",
    preemption=True,
    half_life=timedelta(hours=12),
    min_run=timedelta(minutes=5),
    max_preemptions=3,
)
QUOTA = Quota(guaranteed=300, maximum=1_500)


@dataclass
class Records:
    """What the tables say."""

    quotas: dict[tuple[TenantId, ...], Quota] = field(default_factory=dict)
    parts: dict[ExperimentId, Part] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)


class Site:
    """Makes records, and what happens later."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self.records = Records()
        self.token = 0
        self.place = 0
        sizes, weights = zip(*GANGS.items(), strict=True)
        self.size_of = {
            (tenant, number): generator.choices(sizes, weights)[0]
            for tenant in range(TENANTS)
            for number in range(EXPERIMENTS)
        }
        # Some tenants have much, some little: a few borrow, others have claims.
        self.busy = [1.0 / (1 + tenant % 20) for tenant in range(TENANTS)]

    def make(self) -> Records:
        records = self.records
        for tenant in range(TENANTS):
            records.quotas[TenantId(UUID(int=1 + tenant)),] = QUOTA
            for number in range(EXPERIMENTS):
                records.parts[self._experiment(tenant, number)] = Part(42, weight=1.0 + number % 3)
        self._fill()
        for _ in range(WAITING):
            records.trials.append(self.trial(self.generator.randrange(TENANTS)))
        return records

    def trial(self, tenant: int) -> Trial:
        """A new waiting trial of some experiment of this tenant."""
        self.place += 1
        number = self.generator.randrange(EXPERIMENTS)
        size = self.size_of[tenant, number]
        wish = Wish(
            trial=TrialId(UUID(int=1 << 64 | self.place)),
            tenant=TenantId(UUID(int=1 + tenant)),
            experiment=self._experiment(tenant, number),
            version=1,
            request=1,
            wanted=Wanted.RUN,
            decide_at=None,
            needs=Needs(size, size),
            pool=POOL,
            max_restarts=5,
            upload_timeout=timedelta(minutes=5),
            workspace=f"workspace {number % 2}",
            owner=f"user {number % 5}",
        )
        return Trial(wish, self.place, NOW, submitted_at=NOW)

    def _experiment(self, tenant: int, number: int) -> ExperimentId:
        return ExperimentId(UUID(int=1_000_000 + tenant * EXPERIMENTS + number))

    def _fill(self) -> None:
        """Gangs of all sizes, each on machines that serve its tenant alone."""
        workers = [
            Worker(WorkerId(f"machine-{at:05d}"), POOL, "cuda", tuple(range(SLOTS)), "10.0.0.1", liveness=Liveness.READY, is_heard=True)
            for at in range(MACHINES)
        ]  # fmt: skip
        fresh = list(reversed(workers))
        partly: dict[int, Worker] = {}
        held = [0] * TENANTS
        left = int(MACHINES * SLOTS * FULL)
        while left > 0:
            tenant = self.generator.choices(range(TENANTS), self.busy)[0]
            trial = self.trial(tenant)
            size = trial.wish.needs.max_slots
            if size > len(fresh) * SLOTS or held[tenant] + size > (QUOTA.maximum or 0):
                continue
            held[tenant] += size
            self._start(trial, tenant, size, fresh, partly)
            left -= size
        self.records.workers = workers

    def _start(
        self, trial: Trial, tenant: int, size: int, fresh: list[Worker], partly: dict[int, Worker]
    ) -> None:
        self.token += 1
        allocation = AllocationId(UUID(int=2 << 64 | self.token))
        shares = []
        while size:
            worker = partly.get(tenant) or fresh.pop()
            here = worker.free_slot_ids[:size]
            worker.hold(allocation, Hold(trial.wish.tenant, here))
            shares.append(Share(worker.id, len(here), here, worker.address))
            size -= len(here)
            if worker.free_slot_ids:
                partly[tenant] = worker
            else:
                partly.pop(tenant, None)
        granted_at = NOW - timedelta(seconds=self.generator.randrange(86_400))
        wish = trial.wish
        made = Run(
            id=RunId(UUID(int=3 << 64 | self.token)), allocation=allocation, trial=wish.trial, tenant=wish.tenant,
            experiment=wish.experiment, pool=POOL, number=1, token=self.token, request=1, shares=tuple(shares),
            granted_at=granted_at, state=RunState.RUNNING, seen=frozenset(share.worker for share in shares),
            workspace=wish.workspace, owner=wish.owner,
        )  # fmt: skip
        self.records.runs.append(made)
        self.records.trials.append(trial._replace(state=RequestState.RUNNING, runs=1, run=made.id))


def build(records: Records) -> Cluster:
    """The world from its records, as a leader's term begins."""
    cluster = Cluster()
    cluster.advance_to(NOW)
    cluster.put_pool(POLICY)
    for path, quota in records.quotas.items():
        cluster.put_quota(POOL, path, quota)
    for experiment, part in records.parts.items():
        cluster.put_part(experiment, part)
    for trial in records.trials:
        cluster.put_trial(trial)
    for made in records.runs:
        cluster.put_run(made)
    for worker in records.workers:
        cluster.put_worker(worker)
    return cluster


class Life:
    """What happens from then on: ends, arrivals, and slots given back when they are asked for."""

    def __init__(self, cluster: Cluster, site: Site) -> None:
        self.cluster, self.site = cluster, site
        self.now = NOW
        self.token = site.token
        self.grants = 0
        self.asked: list[RunId] = []
        self.running = [made.id for made in cluster.runs.values()]

    def turn(self, ending: list[RunId], arriving: list[Trial]) -> float:
        """One turn; its seconds."""
        self.now += timedelta(milliseconds=250)

        def happen(cluster: Cluster, now: datetime) -> None:
            for run_id in ending:
                self._end(cluster, run_id, now)
            for trial in arriving:
                self.site.place += 1
                wishes.on_wish(cluster, trial.wish, trial.place, now)

        started = time.perf_counter()
        turn = take_turn(self.cluster, [happen], self._next_token, self.now)
        seconds = time.perf_counter() - started
        self._note(turn)
        return seconds

    def take_running(self) -> RunId:
        """Any run that has not been asked for its slots."""
        while True:
            at = self.site.generator.randrange(len(self.running))
            self.running[at], self.running[-1] = self.running[-1], self.running[at]
            run_id = self.running.pop()
            found = self.cluster.runs.get(run_id)
            if found and not found.is_ended and not found.preempted:
                return run_id

    def arrival(self) -> Trial:
        return self.site.trial(self.site.generator.randrange(TENANTS))

    def settle(self) -> None:
        """All that were asked give their slots back, until nobody is asked any more."""
        for _ in range(50):
            asked, self.asked = self.asked, []
            self.turn(asked, [])
            if not self.asked:
                return

    def _end(self, cluster: Cluster, run_id: RunId, now: datetime) -> None:
        for share in cluster.runs[run_id].shares:
            found = cluster.runs[run_id]
            how = Exit(acknowledged=Signal.PREEMPT) if found.preempted else Exit()
            ends.on_exit(cluster, found, share.worker, how, now)
        ended = cluster.runs[run_id]
        cluster.forget(runs=[run_id], trials=[ended.trial] if cluster.trials[ended.trial].is_closed else [])

    def _note(self, turn: Turn) -> None:
        self.grants += len(turn.plan.grants)
        self.asked += [signal.run for signal in turn.plan.signals]
        trials = self.cluster.trials
        self.running += [run for grant in turn.plan.grants if (run := trials[grant.trial].run)]

    def _next_token(self) -> int:
        self.token += 1
        return self.token


def measure(report: Report) -> Figures:
    site = Site(random.Random(SEED))
    records = site.make()
    report.inputs(
        machines=MACHINES, slots=SLOTS, tenants=TENANTS, experiments=TENANTS * EXPERIMENTS,
        waiting=WAITING, runs=len(records.runs), full=FULL, gangs=GANGS, seed=SEED,
    )  # fmt: skip
    full_plan_s, cluster = _full_plans(report, records)
    # As the service does beside the first turns of a term.
    use_large_pages()
    life = Life(cluster, site)
    life.settle()
    delta_ms = _deltas(report, life)
    placements_per_s = _sustained(report, life)
    _check_capacity(report, cluster)
    return {
        "full_plan_s": full_plan_s,
        "delta_p99_ms": percentile(delta_ms, 0.99),
        "delta_median_ms": percentile(delta_ms, 0.5),
        "placements_per_s": placements_per_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _full_plans(report: Report, records: Records) -> tuple[float, Cluster]:
    taken = []
    for _ in range(FULL_PLANS):
        fresh = replace_workers(records)
        # As the service begins a term.
        collect_rarely()
        gc.unfreeze()
        gc.collect()
        gc.disable()
        started = time.perf_counter()
        cluster = build(fresh)
        built = time.perf_counter()
        gc.freeze()
        gc.enable()
        planned = plan(cluster, [POOL])
        ended = time.perf_counter()
        taken.append(ended - started)
        report.say(
            f"full plan: {built - started:.2f} s to build, {ended - built:.2f} s to plan:"
            f" {len(planned.grants)} grants, {len(planned.signals)} asked, {len(planned.refusals)} looked at in vain"
        )
    return percentile(taken, 0.5), cluster


def replace_workers(records: Records) -> Records:
    """Workers are the one kind of record that a cluster changes."""
    return replace(records, workers=[replace(worker, held=dict(worker.held)) for worker in records.workers])


def _deltas(report: Report, life: Life) -> list[float]:
    taken: list[float] = []
    before = life.grants
    while len(taken) < DELTAS:
        ending = life.asked.pop() if life.asked else life.take_running()
        taken.append(1000 * life.turn([ending], [life.arrival()]))
    report.say(f"deltas: {life.grants - before} grants, slowest {max(taken):.1f} ms")
    return taken


def _sustained(report: Report, life: Life) -> float:
    before, seconds = life.grants, 0.0
    while life.grants - before < PLACEMENTS:
        asked, life.asked = life.asked, []
        ending = asked + [life.take_running() for _ in range(BATCH)]
        arriving = [life.arrival() for _ in range(BATCH)]
        seconds += life.turn(ending, arriving)
    report.say(f"sustained: {life.grants - before} placements in {seconds:.2f} s")
    return (life.grants - before) / seconds


def _check_capacity(report: Report, cluster: Cluster) -> None:
    doubled = foreign = 0
    for worker in cluster.workers.values():
        taken = [slot for hold in worker.held.values() for slot in hold.slot_ids]
        doubled += len(taken) - len(set(taken))
        foreign += len({hold.tenant for hold in worker.held.values()}) > 1
    pool = cluster.pools[POOL]
    held = sum(len(worker.slot_ids) - len(worker.free_slot_ids) for worker in cluster.workers.values())
    report.check("doubled_slots", 0, doubled)
    report.check("shared_machines", 0, foreign)
    report.check("slots_counted", float(held), float(pool.shares.root.held))
    over = [node for node in pool.shares.root.children.values() if node.held > (QUOTA.maximum or 0)]
    report.check("tenants_over_maximum", 0, len(over))


if __name__ == "__main__":
    run("scheduler_scale", measure)
