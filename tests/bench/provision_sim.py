"""What finished trials cost: 30 seeded days of bursts, spot prices and interruptions (`provisioning/workload`, `provisioning/market`), played with the real cores
of scheduler and provisioner on virtual time.

`cost_vs_bound`: against a linear program that knows everything (`provisioning/bound`); `cost_vs_on_demand`: against the same cores without spot machines;
`cost_vs_elsewhere`: against restarting elsewhere as SkyPilot does it. `wait_p95_s`: what a trial lost beside its own work, waiting, booting and doing
again what was lost: the 95th percentile of all.

`python -m tests.bench.provision_sim [--days N] [--from SEED] [--results FILE [--time-limit S]]`: a day takes a quarter of a minute of a processor to a minute. What
`--results` holds is not played again. Rules are tuned on days 31 to 60 (`--from 31`), and measured on others.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from services.provisioner.core.instances.launches import offer_of
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import PoolName
from simulator.control.leader_term import Tempo
from simulator.observers.measures import Measures
from simulator.provisioning.connections import Rented
from simulator.simulation import Setup, Simulation
from simulator.trials import WorkloadTrial
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.kept import OPTIONS, Outcome, play_parts
from tests.bench.provisioning import elsewhere
from tests.bench.provisioning.bound import least_cost
from tests.bench.provisioning.market import Market
from tests.bench.provisioning.workload import day, work_ms
from tests.support.policies import plain

DAYS = 30
PROCESSES = 2
POOL = PoolName("default")
IDLE = timedelta(seconds=60)
LAUNCH_AFTER = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Played:
    """What a policy came to: money, seconds lost by each trial, and machines taken back."""

    cost: float
    lost_s: list[float]
    taken: int = 0


def play(items: Sequence[WorkloadTrial], market: Market, spec: PoolSpec, seed: int) -> Played:
    """One day, until its last trial has ended."""
    measures = Measures()
    setup = Setup(plain(POOL), [], items, seed, Tempo(tick_ms=10_000), rented=Rented(spec, market))
    simulation = Simulation(setup, [measures])
    measures.agenda = simulation.agenda
    simulation.begin()
    assert simulation.run(market.until_ms), "a trial did not end"
    provisioner = simulation.provisioner
    assert provisioner is not None
    while provisioner.live:
        simulation.agenda.step()
    begin = simulation.agenda.now - timedelta(milliseconds=simulation.agenda.now_ms)
    cost = 0.0
    for one, _ in provisioner.hours():
        assert one.launched_at is not None
        assert one.ended_at is not None
        times = [(at - begin) // timedelta(milliseconds=1) for at in (one.launched_at, one.ended_at)]
        cost += market.paid(offer_of(one), *times)
    served = {one.name: one for one in measures.served()}
    lost_s = [served[item.name].took_s - work_ms(item) / 1000 for item in items]
    return Played(cost, lost_s, provisioner.cloud.taken)


def spec_of(market: Market, with_spot: bool = True) -> PoolSpec:
    offers = tuple(one for one in market.offers if with_spot or one.purchase == "on_demand")
    return PoolSpec(
        POOL,
        offers,
        0,
        1000,
        idle_timeout=IDLE,
        join_timeout=timedelta(minutes=10),
        migrates_runs=with_spot,
        batching_window=LAUNCH_AFTER,
    )


def compare(seed: int) -> Outcome:
    """What one day costs by each policy, and what each trial lost with ours and where it was restarted elsewhere."""
    items, market = day(seed), Market(seed=seed)
    ours = play(items, market, spec_of(market), seed)
    plain = play(items, market, spec_of(market, with_spot=False), seed)
    there, elsewhere_s = elsewhere.play(items, market, seed)
    costs = {
        "ours": ours.cost,
        "bound": least_cost(items, market),
        "on_demand": plain.cost,
        "elsewhere": there,
    }
    return {"costs": costs, "taken": ours.taken, "lost_s": ours.lost_s, "elsewhere_s": elsewhere_s}


def measure(report: Report) -> Figures:
    chosen = _chosen()
    seeds = range(chosen.first, chosen.first + chosen.days)
    report.inputs(
        days=chosen.days,
        seeds=f"{seeds[0]} to {seeds[-1]}",
        idle_timeout_s=IDLE.total_seconds(),
        batching_window_s=LAUNCH_AFTER.total_seconds(),
    )
    with ProcessPoolExecutor(PROCESSES) as processes:
        found = play_parts(processes, compare, seeds, chosen.results, chosen.time_limit)
    for seed, one in zip(seeds, found, strict=True):
        costs = ", ".join(f"{name} {cost:,.2f}" for name, cost in one["costs"].items())
        lost = f"{one['taken']} taken, lost {percentile(one['lost_s'], 0.95):.0f} s"
        report.say(f"day {seed}: {len(one['lost_s'])} trials, {lost}; {costs}")
    ours, bound, on_demand, there = (
        sum(one["costs"][name] for one in found) for name in ("ours", "bound", "on_demand", "elsewhere")
    )
    ours_s = [lost_s for one in found for lost_s in one["lost_s"]]
    elsewhere_s = [lost_s for one in found for lost_s in one["elsewhere_s"]]
    return {
        "days": chosen.days,
        "trials": len(ours_s),
        "taken": sum(one["taken"] for one in found),
        "cost_per_trial": ours / len(ours_s),
        "cost_vs_bound": ours / bound,
        "cost_vs_on_demand": ours / on_demand,
        "cost_vs_elsewhere": ours / there,
        "wait_p95_s": percentile(ours_s, 0.95),
        "elsewhere_wait_p95_s": percentile(elsewhere_s, 0.95),
    }


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="provision_sim", parents=[OPTIONS])
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    return parser.parse_args()


if __name__ == "__main__":
    run("provision_sim", measure)
