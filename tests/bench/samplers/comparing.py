"""One comparison: our sampler and Optuna's own on a table, from one seed."""

import warnings
from dataclasses import dataclass
from typing import Any

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


def compare(job: Job) -> dict[str, Any]:
    """Play both sides; in a process of its own, so that Optuna is imported there alone."""
    import optuna
    import torch

    from tests.bench.samplers.asked import ByHand, Ours
    from tests.bench.samplers.memory import memoized

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    table, is_identical = read_table(TABLES / f"{job.table}.npz"), None
    # Their matrices are small: more threads than one only get in each other's way. Torch has its own, which came after the limits.
    torch.set_num_threads(1)
    with threadpool_limits(1):
        if job.alone:
            with memoized():
                ours, _ = play(table, Ours(job.sampler, table, job.seed, job.alone, 1), job.alone, 1)
                hand, _ = play(table, ByHand(job.sampler, table, job.seed, anew=True), job.alone, 1)
            is_identical = ours == hand
        sides = (
            Ours(job.sampler, table, job.seed, job.trials, AT_ONCE),
            ByHand(job.sampler, table, job.seed, anew=False),
        )
        regrets = []
        for side in sides:
            with memoized():
                regrets.append(_regrets(table, play(table, side, job.trials, AT_ONCE)[1]))
    return {"is_identical": is_identical, "ours": regrets[0], "by_hand": regrets[1]}


def _regrets(table: Table, losses: list[float]) -> tuple[float, ...]:
    return tuple(table.regret(min(losses[:count])) for count in COUNTS if count <= len(losses))
