"""How true is the expected start: on virtual time, waiting trials are asked now and then when they will start, and then they do.

The estimate knows what the scheduler knows: what runs and since when, what waits in which order, how long ended runs took. It does
not know what will arrive. A range is right when the true start lies in it; it is meant to in 80 of 100 cases.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

import numpy as np

from services.scheduler.core.explaining.forecast.start import StartForecast, forecast
from services.scheduler.core.explaining.wait_reasons import binding_of
from services.scheduler.core.planning.plan import SchedulingPlan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.pool import OrderName, PoolPolicy
from services.scheduler.core.state.records.trial import RequestState
from shared.ids import PoolName, TrialId, WorkerId
from simulator.control.leader_term import Tempo
from simulator.machines.machine_slots import Kind
from simulator.observers.observer import Observer
from simulator.simulation import Setup, Simulation
from simulator.trials import PlainWork, WorkloadTrial
from tests.bench.harness import Figures, Report, percentile, run
from tests.support.policies import plain

SEEDS = 4
TRIALS, MACHINES, SLOTS = 400, 8, 4
EVERY_MS, ASKED = 15 * 60_000, 3
"""So often, so many of those that wait are asked."""
POOL = PoolName("gpus")
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of site: whose trials wait, and by which rules; `default`: by those of a pool that nobody has configured."""

    order: OrderName | Literal["default"]
    exclusive: bool
    sizes: Mapping[int, int]
    spread: float
    max_slots: int | None = None


SETTINGS = {
    "single": Setting("fifo", False, {1: 1}, 0.6),
    "mixed": Setting("priority", False, {1: 5, 2: 3, 4: 2}, 0.8),
    "gangs": Setting("priority", True, {1: 4, 4: 3, 8: 2}, 0.8),
    "fair": Setting("fair_share", False, {1: 5, 2: 3}, 0.8),
    "limited": Setting("priority", False, {1: 1}, 0.6, max_slots=4),
    "default": Setting("default", False, {1: 5, 2: 3}, 0.8),
}


@dataclass
class Asking(Observer):
    """Asks now and then, and hears when each that was asked has started."""

    chance: Random
    asked: dict[TrialId, list[tuple[int, StartForecast]]] = field(default_factory=lambda: defaultdict(list))
    seen: list[tuple[StartForecast, float]] = field(default_factory=list)
    silent: int = 0
    next_ms: int = 0

    def on_turn(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        for grant in planned.grants:
            for at_ms, start in self.asked.pop(grant.trial, ()):
                self.seen.append((start, float(cluster.now_ms - at_ms)))
        if cluster.now_ms >= self.next_ms:
            self.next_ms = cluster.now_ms + EVERY_MS
            self._ask(cluster, planned)

    def _ask(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        waiting = [trial for trial in cluster.trials.values() if trial.state is RequestState.QUEUED]
        for trial in self.chance.sample(waiting, min(ASKED, len(waiting))):
            reason = binding_of(cluster, trial, planned.refusals.get(trial.id))
            start = forecast(cluster, trial, reason, np.random.default_rng(7))
            if start is None:
                self.silent += 1
            else:
                self.asked[trial.id].append((cluster.now_ms, start))


def measure(report: Report) -> Figures:
    """One line for each setting: how often the range was right, and how far off the middle was."""
    report.inputs(trials=TRIALS, machines=MACHINES, slots=SLOTS, seeds=SEEDS)
    figures: Figures = {}
    everything: list[tuple[StartForecast, float]] = []
    for name, setting in SETTINGS.items():
        seen, silent = [], 0
        for seed in range(SEEDS):
            asking = _simulate(setting, seed)
            seen += asking.seen
            silent += asking.silent
        report.say(f"{name}: asked {len(seen)} times and {silent} more in vain")
        figures |= _figures(name, seen)
        everything += seen
    figures |= _figures("all", everything)
    return figures


def _figures(name: str, seen: Sequence[tuple[StartForecast, float]]) -> Figures:
    within = [start.earliest_ms <= true <= start.latest_ms for start, true in seen]
    late = [true > start.latest_ms for start, true in seen]
    off = [abs(start.expected_ms - true) / max(true, 60_000.0) for start, true in seen]
    return {
        f"{name}_within": round(sum(within) / len(within), 3),
        f"{name}_later": round(sum(late) / len(late), 3),
        f"{name}_off_median": round(percentile(off, 0.5), 3),
    }


def _simulate(setting: Setting, seed: int) -> Asking:
    chance = Random(f"{seed}/{setting}")
    asking = Asking(chance)
    machines = [Kind(WorkerId(f"m{number}"), POOL, SLOTS, "cuda") for number in range(MACHINES)]
    policy = (
        PoolPolicy(POOL, exclusive=setting.exclusive)
        if setting.order == "default"
        else plain(POOL, order=setting.order, exclusive=setting.exclusive)
    )
    simulation = Simulation(
        Setup(policy, machines, _items(setting, chance), seed, Tempo(tick_ms=60_000)), [asking]
    )
    simulation.begin()
    simulation.run()
    return asking


def _items(setting: Setting, chance: Random) -> list[WorkloadTrial]:
    """Experiments of ten trials, one after the other; each has a length of its own, and its trials vary around it."""
    sizes, weights = zip(*setting.sizes.items(), strict=True)
    slots_ms = MACHINES * SLOTS * 0.9
    items: list[WorkloadTrial] = []
    now_ms = 0.0
    for number in range(TRIALS // 10):
        slots = chance.choices(sizes, weights)[0]
        middle_ms = chance.lognormvariate(0, 0.5) * HOUR_MS
        for place in range(10):
            length_ms = int(middle_ms * chance.lognormvariate(0, setting.spread))
            items.append(
                WorkloadTrial(
                    name=f"{number}.{place}",
                    arrives_ms=int(now_ms),
                    work=PlainWork(length_ms, slots),
                    min_slots=slots,
                    max_slots=slots,
                    tenant=f"t{number % 3}",
                    experiment=f"e{number}",
                    priority=40 + number % 2,
                    checkpoint_ms=600_000 if setting.order == "default" else None,
                    experiment_max_slots=setting.max_slots,
                )
            )
        now_ms += chance.expovariate(1) * 10 * slots * 1.5 * HOUR_MS / slots_ms
    return items


if __name__ == "__main__":
    run("start_estimates", measure)
