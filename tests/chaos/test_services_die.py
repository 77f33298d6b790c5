"""Services, servers and stores are killed under a search; every trial is there once, every value once, and the search ends."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from muster.errors import MusterError, NotFound
from tests.chaos.breaking import SERVICES, Breaking, books_balance
from tests.support.drill_share import every

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

STEPS = 9
ASHA: dict[str, object] = {
    "name": "async_halving", "metric": "loss", "max_trials": 10, "max_concurrent_trials": 2, "time_metric": "epochs",
    "max_time": STEPS, "divisor": 3, "num_rungs": 3,
}  # fmt: skip
SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}, "steps": STEPS, "pace_s": 0.15}


def test_each_service_is_killed_under_load(platform: Breaking) -> None:
    made = platform.create(ASHA, hyperparameters=SPACE)
    platform.until(lambda: platform.step_of(made) >= 1)
    for service in SERVICES:
        platform.kill(service)
        time.sleep(1.5)
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 10, STEPS)


def test_bus_and_database_are_killed_under_load(platform: Breaking) -> None:
    made = platform.create(ASHA, hyperparameters=SPACE)
    platform.until(lambda: platform.step_of(made) >= 1)
    for server in ("nats", "postgres", "s3", "nats", "redis"):
        platform.kill(server)
        time.sleep(2)
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 10, STEPS)


def test_the_stream_store_is_lost_under_load(platform: Breaking) -> None:
    made = platform.create(ASHA, hyperparameters=SPACE)
    platform.until(lambda: platform.step_of(made) >= 1)
    # Frozen first: a server that goes on writes its consumers' positions back, and the next one skips what they had of the lost stream.
    os.kill(platform.pids()["nats"], signal.SIGSTOP)
    shutil.rmtree(platform.home / "data" / "nats")
    platform.kill("nats")
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 10, STEPS)


@pytest.mark.parametrize("service", every(5, SERVICES, begin=2))
def test_of_two_replicas_either_may_die(platform: Breaking, service: str) -> None:
    with platform.doubled(service) as second:
        made = platform.create(ASHA | {"max_trials": 4}, hyperparameters=SPACE)
        platform.until(lambda: platform.step_of(made) >= 1)
        if service != "gateway":
            platform.kill(service)
            time.sleep(2)
        second.kill()
        assert platform.ended(made).state == "completed"
        books_balance(platform, made, 4, STEPS)


def test_a_deletion_comes_to_its_end_whoever_dies(platform: Breaking) -> None:
    kept = platform.create(hyperparameters={"x": 1.0, "steps": 2, "pace_s": 0.0})
    made = platform.create(hyperparameters={"x": 1.0, "steps": 5000, "pace_s": 0.05})
    platform.until(lambda: platform.step_of(made) >= 2)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(platform.client.experiments.delete, made.id)
        for service in ("searcher", "gateway", "registry", "scheduler"):
            time.sleep(0.7)
            platform.kill(service)
        with suppress(MusterError):  # its answer may be lost, and it may take longer than a client waits
            asked.result()

    def is_gone() -> bool:
        with suppress(NotFound):
            return bool(platform.client.experiments.get(made.id).id != made.id)
        return True

    platform.until(is_gone)
    assert platform.ended(kept).state == "completed"
    books_balance(platform, kept, 1, 2)
