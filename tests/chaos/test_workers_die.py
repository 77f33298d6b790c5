"""Daemons, warm parents and whole control planes go away under a training that knows nothing of it."""

import os
import shutil
import signal
import time

import psutil
import pytest

from muster.client.models import ExperimentDetail
from tests.chaos.breaking import SERVICES, Breaking, books_balance

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def one_trial(platform: Breaking, steps: int, pace_s: float = 0.2) -> ExperimentDetail:
    made = platform.create(hyperparameters={"x": 1.0, "steps": steps, "pace_s": pace_s})
    platform.until(lambda: platform.step_of(made) >= 5)
    return made


def busy_worker(platform: Breaking) -> str:
    return next(worker.id for worker in platform.client.cluster.workers() if worker.used_slots)


def test_a_killed_daemon_finds_its_run_again(platform: Breaking) -> None:
    platform.hurry("provisioner")  # which starts the daemon again; a lease lasts 4 s
    made = one_trial(platform, 40)
    os.kill(platform.daemons()[busy_worker(platform)], signal.SIGKILL)
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 1, 40)
    assert platform.client.trials.list(made.number).all()[0].runs == 1


def test_a_killed_worker_costs_what_came_after_its_newest_checkpoint(platform: Breaking) -> None:
    made = one_trial(platform, 40)
    worker = busy_worker(platform)
    family = [psutil.Process(platform.parent(worker)), psutil.Process(platform.daemons()[worker])]
    ranks = [child for one in family for child in one.children(recursive=True)]
    for process in (*family, *ranks):
        if process.is_running():
            process.kill()
    shutil.rmtree(platform.home / "workers" / worker, ignore_errors=True)
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 1, 40)
    trial = platform.client.trials.list(made.number).all()[0]
    assert trial.runs == 2
    lines = [line for line in platform.log_of(trial.id, has="begins at", times=2) if "begins at" in line]
    assert len(lines) == 2 and int(lines[1].split()[2]) >= 3
    platform.await_workers(2)


def test_the_control_plane_is_away_longer_than_every_lease(platform: Breaking) -> None:
    """All five services and NATS are dead for 12 s (leases last 3 and 4 s); the rank trains on, in the same run."""
    made = one_trial(platform, 180)
    rank = next(process for process in psutil.Process(platform.parent(busy_worker(platform))).children(True))
    pids = platform.pids()
    supervisor, away = pids["supervisor"], [pids[part] for part in (*SERVICES, "nats")]
    os.kill(supervisor, signal.SIGSTOP)
    try:
        for pid in away:
            os.kill(pid, signal.SIGKILL)
        time.sleep(12)
        assert rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE
    finally:
        os.kill(supervisor, signal.SIGCONT)
    assert platform.ended(made).state == "completed"
    books_balance(platform, made, 1, 180)
    assert platform.client.trials.list(made.number).all()[0].runs == 1
