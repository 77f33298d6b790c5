"""Ray Tune on the benchmark's search: `ray_asha.py fresh|reuse TRIALS SEED`; the last line is JSON. Runs in the peers' own venv."""

import json
import random
import sys
import tempfile
import time
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler


def steps(config: dict[str, Any]) -> None:
    for step in range(1, 10):
        noise = random.Random(f"{config['seed']}:{config['point']:.12f}:{step}").random()
        tune.report({"loss": config["point"] + noise / (step + 1)})


def main() -> None:
    mode, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    tuner = tune.Tuner(
        tune.with_resources(steps, {"cpu": 1}),
        param_space={"point": tune.uniform(0.0, 1.0), "seed": seed},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=number,
            max_concurrent_trials=2,
            reuse_actors=mode == "reuse",
            scheduler=ASHAScheduler(
                time_attr="training_iteration", max_t=9, grace_period=1, reduction_factor=3
            ),
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    began = time.monotonic()
    results = tuner.fit()
    seconds = time.monotonic() - began
    assert len(results) == number and not results.errors
    print(json.dumps({"per_trial_s": seconds / number}))


if __name__ == "__main__":
    main()
