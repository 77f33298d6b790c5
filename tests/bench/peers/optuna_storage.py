"""Optuna on Postgres: `optuna_storage.py URL SECONDS`; the last line is JSON. Runs in the peers' own venv.

Two processes share a study. For so many seconds each makes trials (asked for and given a point), then for as many it reports the first value of trials
and has a pruner decide: successive halving, as the service's search has it, with random points.
"""

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import optuna

PROCESSES, NAME = 2, "scale"


def share(url: str, seconds: float) -> tuple[int, float, int, float]:
    """Return how many trials one process made in how many seconds, and how many it reported in how many."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name=NAME,
        storage=optuna.storages.RDBStorage(url),
        sampler=optuna.samplers.RandomSampler(),
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=4),
    )
    trials, began = [], time.monotonic()
    while time.monotonic() - began < seconds:
        trial = study.ask()
        trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        trials.append(trial)
    made_s, reported, began = time.monotonic() - began, 0, time.monotonic()
    while reported < len(trials) and time.monotonic() - began < seconds:
        trial = trials[reported]
        trial.report(trial.number * 0.6180339887 % 1.0, 1)
        trial.should_prune()
        reported += 1
    return len(trials), made_s, reported, time.monotonic() - began


def main(url: str, seconds: float) -> None:
    url = url.replace("postgresql://", "postgresql+psycopg://")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(study_name=NAME, storage=optuna.storages.RDBStorage(url))
    with ProcessPoolExecutor(PROCESSES) as pool:
        shares = list(pool.map(share, [url] * PROCESSES, [seconds] * PROCESSES))
    made, made_s, reported, reported_s = map(sum, zip(*shares, strict=True))
    print(
        json.dumps(
            {
                "trials_made": made,
                "trials_made_per_s": made * PROCESSES / made_s,
                "reports": reported,
                "reports_per_s": reported * PROCESSES / reported_s,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
