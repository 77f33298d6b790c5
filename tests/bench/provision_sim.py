"""What finished trials cost: 30 seeded days of bursts, spot prices and interruptions (`provisioning/workload`, `provisioning/market`), played with the real cores
of scheduler and provisioner on virtual time.

`cost_vs_bound`: against a linear program that knows everything (`provisioning/bound`); `cost_vs_on_demand`: against the same cores without spot machines;
`cost_vs_elsewhere`: against restarting elsewhere as SkyPilot does it. `wait_p95_s`: what a trial lost beside its own work, waiting, booting and doing
again what was lost: the 95th percentile of all. Days: the first argument (30).
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from services.provisioner.core.intents import offer_of
from services.provisioner.core.spec import PoolSpec
from services.scheduler.core.pool import PoolPolicy
from shared.ids import PoolName
from simulator.control.leader import Tempo
from simulator.provisioning.ties import Rented
from simulator.simulation import Setup, Simulation
from simulator.trials import Item
from simulator.watching.measures import Measures
from tests.bench.harness import Figures, Report, run
from tests.bench.provisioning import elsewhere
from tests.bench.provisioning.bound import least_cost
from tests.bench.provisioning.market import Market
from tests.bench.provisioning.workload import day, work_ms

DAYS = 30
PROCESSES = 2
POOL = PoolName("default")
IDLE = timedelta(seconds=60)
PATIENCE = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Played:
    """What a policy came to: money, seconds lost by each trial, and machines taken back."""

    cost: float
    lost_s: list[float]
    taken: int = 0


def play(items: Sequence[Item], market: Market, spec: PoolSpec, seed: int) -> Played:
    """One day, until its last trial has ended."""
    measures = Measures()
    setup = Setup(PoolPolicy(POOL), [], items, seed, Tempo(tick_ms=10_000), rented=Rented(spec, market))
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
        moves_runs=with_spot,
        patience=PATIENCE,
    )


def percentile_95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, round(0.95 * len(values)))]


def compare(seed: int) -> tuple[dict[str, float], Played, list[float]]:
    """What one day costs by each policy, ours as it was played, and what each trial lost where it was restarted elsewhere."""
    items, market = day(seed), Market(seed=seed)
    ours = play(items, market, spec_of(market), seed)
    plain = play(items, market, spec_of(market, with_spot=False), seed)
    there, lost_s = elsewhere.play(items, market, seed)
    costs = {
        "ours": ours.cost,
        "bound": least_cost(items, market),
        "on_demand": plain.cost,
        "elsewhere": there,
    }
    return costs, ours, lost_s


def measure(report: Report) -> Figures:
    days = int(sys.argv[1]) if len(sys.argv) > 1 else DAYS
    report.inputs(
        days=days,
        seeds=f"0 to {days - 1}",
        idle_timeout_s=IDLE.total_seconds(),
        patience_s=PATIENCE.total_seconds(),
    )
    sums = dict.fromkeys(("ours", "bound", "on_demand", "elsewhere"), 0.0)
    ours_s: list[float] = []
    elsewhere_s: list[float] = []
    trials = taken = 0
    with ProcessPoolExecutor(PROCESSES) as processes:
        for seed, (found, ours, lost_s) in enumerate(processes.map(compare, range(days))):
            sums = {name: sums[name] + found[name] for name in sums}
            ours_s, elsewhere_s = ours_s + ours.lost_s, elsewhere_s + lost_s
            trials, taken = trials + len(lost_s), taken + ours.taken
            costs = ", ".join(f"{name} {cost:,.2f}" for name, cost in found.items())
            lost = f"{ours.taken} taken, lost {percentile_95(ours.lost_s):.0f} s"
            report.say(f"day {seed}: {len(lost_s)} trials, {lost}; {costs}")
    return {
        "days": days,
        "trials": trials,
        "taken": taken,
        "cost_per_trial": sums["ours"] / trials,
        "cost_vs_bound": sums["ours"] / sums["bound"],
        "cost_vs_on_demand": sums["ours"] / sums["on_demand"],
        "cost_vs_elsewhere": sums["ours"] / sums["elsewhere"],
        "wait_p95_s": percentile_95(ours_s),
        "elsewhere_wait_p95_s": percentile_95(elsewhere_s),
    }


if __name__ == "__main__":
    run("provision_sim", measure)
