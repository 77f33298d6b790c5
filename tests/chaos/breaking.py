"""The platform as those see it who break it: pids to kill, and the books that must balance afterwards."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

import psutil

from muster.client.models import ExperimentDetail
from tests.e2e.platform import TIMEOUT_S, Platform

SERVICES = ("gateway", "searcher", "scheduler", "provisioner", "registry")


@dataclass(frozen=True)
class Breaking(Platform):
    """A platform whose parts can be killed, frozen and doubled."""

    def pids(self) -> dict[str, int]:
        """The process of each server and service, and of the supervisor."""
        parts = self.muster("status", "--json").json()["parts"]
        assert isinstance(parts, list)
        return {one["name"]: int(one["pid"]) for one in parts if one["pid"]}

    def kill(self, part: str) -> None:
        os.kill(self.pids()[part], signal.SIGKILL)

    def daemons(self) -> dict[str, int]:
        """The daemon of each worker."""
        found = {}
        for lock in (self.home / "workers").glob("*/daemon.lock"):
            pid = int(lock.read_text().split()[0])
            if psutil.pid_exists(pid):
                found[lock.parent.name] = pid
        return found

    def parent(self, worker: str) -> int:
        """The warm parent of a worker."""
        return int((self.home / "workers" / worker / "parent" / "parent.lock").read_text().split()[0])

    def hurry(self, part: str) -> None:
        """Let a part, and what it starts from now on, go before all else, where we may: the load of other tests must not use up a lease."""
        with suppress(psutil.AccessDenied):
            psutil.Process(self.pids()[part]).nice(-10)

    def await_workers(self, number: int) -> None:
        self.until(lambda: sum(w.state == "ready" for w in self.client.cluster.workers()) >= number)

    def step_of(self, made: ExperimentDetail) -> int:
        """The newest step of an experiment's only trial."""
        trials = self.client.trials.list(made.number).all()
        return max((trial.latest.step for trial in trials if trial.latest), default=0)

    def ended(self, made: ExperimentDetail) -> ExperimentDetail:
        """The experiment once it is final, whatever is away meanwhile."""
        self.until(lambda: self.client.experiments.get(made.id).final)
        return self.client.experiments.get(made.id)

    @contextmanager
    def doubled(self, service: str) -> Iterator[psutil.Popen]:
        """A second replica of a service, with the first one's settings and a side port of its own."""
        environment = psutil.Process(self.pids()[service]).environ()
        environment |= {
            "MUSTER_SIDE__PORT": "0",
            "MUSTER_GATEWAY__PORT": "0",
            "MUSTER_GATEWAY__GRPC_PORT": "0",
        }
        path = self.home / "logs" / f"{service}-2.log"
        log = path.open("wb")
        child = psutil.Popen(
            [sys.executable, "-P", "-m", f"services.{service}"],
            env=environment, cwd=self.home, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            self.until(lambda: b"became ready" in path.read_bytes())
            yield child
        finally:
            if child.is_running():
                child.terminate()
            child.wait(timeout=TIMEOUT_S)
            log.close()


def books_balance(platform: Platform, made: ExperimentDetail, trials: int, steps: int) -> None:
    """Exactly the asked trials, each value once and none missing, and every trial that was not stopped went to its end."""

    def all_told() -> bool:
        """What the gateway shows of trials comes by messages of their own, perhaps after the experiment's end."""
        states = [trial.state for trial in platform.client.trials.list(made.number).all()]
        return len(states) == trials and set(states) <= {"completed", "stopped"}

    platform.until(all_told)
    found = platform.client.trials.list(made.number).all()
    assert sorted(trial.number for trial in found) == list(range(1, trials + 1))
    for trial in found:
        series = steps_of(platform, trial.id)
        for group, name in (("training", "noise"), ("validation", "loss")):
            points = series[group, name]
            assert points == list(range(1, len(points) + 1)), (trial.number, group, points)
            assert trial.state == "stopped" or len(points) == steps


def steps_of(platform: Platform, trial: UUID) -> dict[tuple[str, str], list[int]]:
    """The steps of each series of a trial: who has them may have been killed last, and be on its way back."""
    found: dict[tuple[str, str], list[int]] = {}

    def is_told() -> bool:
        series = platform.client.trials.metrics(trial).series
        found.update({(one.group, one.name): [point.step for point in one.points] for one in series})
        return True

    platform.until(is_told)
    return found
