"""The planner at the size of a large site: 12,500 machines of 8 slots, 95 % full, 100,000 trials of 1 to 256 slots waiting in 200 tenants.

The pool rules by fair share with quotas, backfill and preemption. First full plans: all indexes built from the records as the tables
give them, and the plan. Then one change at a time: a trial ends, one arrives, and what was asked for its slots gives them back. Then as
many at a time as a busy second brings. Last, full plans where a fifth of the requests minds on which machines it runs. It is the pure
core, driven by the very cycle that service and simulator take.
"""

import gc
import random
import resource
import time
from datetime import datetime, timedelta

from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers import requests, run_completion
from services.scheduler.core.scheduling import CycleResult, run_cycle
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.service import GC_THRESHOLD
from shared.ids import RunId
from shared.messages.trial_specs import Signal
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.large_site import (
    EXPERIMENTS,
    FULL,
    GANGS,
    MACHINES,
    NOW,
    POOL,
    QUOTA,
    SEED,
    SLOTS,
    TENANTS,
    WAITING,
    Records,
    Site,
    build,
    replace_workers,
)

FULL_PLANS = 3
DELTAS = 1_000
BATCH, PLACEMENTS = 500, 20_000
LABELLED = 0.2
"""Such a part of the requests minds where it runs, in full plans of their own."""


class Life:
    """What happens from then on: ends, arrivals, and slots given back when they are asked for."""

    def __init__(self, cluster: Cluster, site: Site) -> None:
        self.cluster, self.site = cluster, site
        self.now = NOW
        self.token = site.token
        self.grants = 0
        self.asked: list[RunId] = []
        self.running = [made.id for made in cluster.runs.values()]

    def run_once(self, ending: list[RunId], arriving: list[Trial]) -> float:
        """One turn; its seconds."""
        self.now += timedelta(milliseconds=250)

        def happen(cluster: Cluster, now: datetime) -> None:
            for run_id in ending:
                self._end(cluster, run_id, now)
            for trial in arriving:
                self.site.place += 1
                cluster.apply(requests.on_request(cluster, trial.request, trial.submission_order, now))

        started = time.perf_counter()
        result = run_cycle(self.cluster, [happen], self._next_token, self.now)
        seconds = time.perf_counter() - started
        self._note(result)
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
            self.run_once(asked, [])
            if not self.asked:
                return

    def _end(self, cluster: Cluster, run_id: RunId, now: datetime) -> None:
        for share in cluster.runs[run_id].shares:
            found = cluster.runs[run_id]
            how = RunExit(acknowledged=Signal.PREEMPT) if found.preempted else RunExit()
            cluster.apply(run_completion.on_exit(cluster, found, share.worker, how, now))
        ended = cluster.runs[run_id]
        cluster.forget(runs=[run_id], trials=[ended.trial] if cluster.trials[ended.trial].is_closed else [])

    def _note(self, result: CycleResult) -> None:
        self.grants += len(result.plan.grants)
        self.asked += [signal.run for signal in result.plan.signals]
        trials = self.cluster.trials
        self.running += [run for grant in result.plan.grants if (run := trials[grant.trial].run)]

    def _next_token(self) -> int:
        self.token += 1
        return self.token


def measure(report: Report) -> Figures:
    gc.set_threshold(GC_THRESHOLD)
    site = Site(random.Random(SEED))
    records = site.make()
    report.inputs(
        machines=MACHINES, slots=SLOTS, tenants=TENANTS, experiments=TENANTS * EXPERIMENTS,
        waiting=WAITING, runs=len(records.runs), full=FULL, gangs=GANGS, labelled=LABELLED, seed=SEED,
    )  # fmt: skip
    full_plan_s, cluster = _full_plans(report, "full plan", records)
    life = Life(cluster, site)
    life.settle()
    delta_ms = _deltas(report, life)
    placements_per_s = _sustained(report, life)
    _check_capacity(report, cluster)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    del cluster, life
    labelled_plan_s, _ = _full_plans(report, "labelled", Site(random.Random(SEED), LABELLED).make())
    return {
        "full_plan_s": full_plan_s,
        "labelled_plan_s": labelled_plan_s,
        "delta_p99_ms": percentile(delta_ms, 0.99),
        "delta_median_ms": percentile(delta_ms, 0.5),
        "placements_per_s": placements_per_s,
        "peak_mib": peak_mib,
    }


def _full_plans(report: Report, name: str, records: Records) -> tuple[float, Cluster]:
    taken = []
    for _ in range(FULL_PLANS):
        fresh = replace_workers(records)
        started = time.perf_counter()
        cluster = build(fresh)
        built = time.perf_counter()
        planned = plan(cluster, [POOL])
        ended = time.perf_counter()
        taken.append(ended - started)
        report.say(
            f"{name}: {built - started:.2f} s to build, {ended - built:.2f} s to plan:"
            f" {len(planned.grants)} grants, {len(planned.signals)} asked, {len(planned.refusals)} looked at in vain"
        )
    return percentile(taken, 0.5), cluster


def _deltas(report: Report, life: Life) -> list[float]:
    taken: list[float] = []
    before = life.grants
    while len(taken) < DELTAS:
        ending = life.asked.pop() if life.asked else life.take_running()
        taken.append(1000 * life.run_once([ending], [life.arrival()]))
    report.say(f"deltas: {life.grants - before} grants, slowest {max(taken):.1f} ms")
    return taken


def _sustained(report: Report, life: Life) -> float:
    before, seconds = life.grants, 0.0
    while life.grants - before < PLACEMENTS:
        asked, life.asked = life.asked, []
        ending = asked + [life.take_running() for _ in range(BATCH)]
        arriving = [life.arrival() for _ in range(BATCH)]
        seconds += life.run_once(ending, arriving)
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
