"""Every part of the platform is killed while a search runs: it ends as if nothing had happened."""

import asyncio
import os
import signal

import pytest

from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

SEARCH: dict[str, object] = {
    "name": "adaptive_asha", "metric": "loss", "max_trials": 12, "max_concurrent_trials": 2, "time_metric": "epochs",
    "max_time": 27, "divisor": 3,
}  # fmt: skip
SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}, "steps": 27, "pace_s": 0.1, "every": 3}
BETWEEN_S = 3.0
PARTS = (
    "searcher",
    "registry",
    "scheduler",
    "worker",
    "nats",
    "postgres",
    "provisioner",
    "s3",
    "redis",
    "gateway",
)


async def test_a_search_survives_the_death_of_every_part(platform: Platform) -> None:
    made = platform.create(SEARCH, hyperparameters=SPACE)
    for part in PARTS:
        await asyncio.sleep(BETWEEN_S)
        os.kill(process_of(platform, part), signal.SIGKILL)
    ended = platform.completed(made)
    assert (ended.trials.completed + ended.trials.stopped, ended.trials.error) == (12, 0)
    for trial in platform.client.trials.list(made.number):
        losses = platform.client.trials.metrics(trial.id, names=["loss"]).series[0].points
        steps = [point.step for point in losses]
        assert steps == list(range(1, len(steps) + 1)), f"trial {trial.number}: {steps}"
        assert trial.state == "stopped" or steps[-1] == 27
        assert all(not run.charged for run in platform.client.trials.runs(trial.id))


def process_of(platform: Platform, name: str) -> int:
    """The process of a server or service, or the daemon of a worker."""
    found = platform.muster("status", "--json").json()
    parts = found["workers"] if name == "worker" else found["parts"]
    assert isinstance(parts, list)
    return next(int(part["pid"]) for part in parts if name in ("worker", part["name"]))
