"""One comparison: our sampler and Optuna's own on a table, from one seed. Results can be kept in a file, so that hours of them may be played in parts."""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from threadpoolctl import threadpool_limits

from tests.bench.quality.plays import ROOT
from tests.bench.samplers.tables import Table, play, read_table

TABLES = ROOT / ".peers" / "tables"
COUNTS = (25, 50, 100, 200)
AT_ONCE = 16


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """A sampler on a table, from one seed: `trials` with many at once, and `alone` of them one after the other."""

    sampler: str
    table: str
    seed: int
    trials: int
    alone: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the points were Optuna's, one by one (None: not played); and the regrets of both with many at once, by number of evaluations."""

    job: Job
    is_identical: bool | None
    ours: tuple[float, ...]
    by_hand: tuple[float, ...]


def play_jobs(jobs: Iterable[Job], kept: Path | None) -> Iterator[Outcome]:
    """Yield an outcome for each, as they end; those that `kept` holds are not played again, and others are added to it."""
    known = _read(kept)
    missing = [job for job in jobs if job not in known]
    yield from (known[job] for job in jobs if job in known)
    with ProcessPoolExecutor(psutil.cpu_count()) as pool:
        for ended in as_completed([pool.submit(compare, job) for job in missing]):
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(asdict(ended.result())) + "\n")
            yield ended.result()


def compare(job: Job) -> Outcome:
    """Play both sides; in a process of its own, so that Optuna is imported there alone."""
    import optuna

    from tests.bench.samplers.asked import ByHand, Ours

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    table, is_identical = read_table(TABLES / f"{job.table}.npz"), None
    with threadpool_limits(
        1
    ):  # Their matrices are small: more threads than one only get in each other's way.
        if job.alone:
            ours, _ = play(table, Ours(job.sampler, table, job.seed, job.alone, 1), job.alone, 1)
            hand, _ = play(table, ByHand(job.sampler, table, job.seed, anew=True), job.alone, 1)
            is_identical = ours == hand
        sides = (
            Ours(job.sampler, table, job.seed, job.trials, AT_ONCE),
            ByHand(job.sampler, table, job.seed, anew=False),
        )
        regrets = [_regrets(table, play(table, side, job.trials, AT_ONCE)[1]) for side in sides]
    return Outcome(job, is_identical, *regrets)


def _regrets(table: Table, losses: list[float]) -> tuple[float, ...]:
    return tuple(table.regret(min(losses[:count])) for count in COUNTS if count <= len(losses))


def _read(kept: Path | None) -> Mapping[Job, Outcome]:
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    outcomes = [
        Outcome(Job(**line["job"]), line["is_identical"], tuple(line["ours"]), tuple(line["by_hand"]))
        for line in map(json.loads, lines)
    ]
    return {each.job: each for each in outcomes}
