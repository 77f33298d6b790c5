"""A platform of its own for a benchmark: warm, with as many one-slot workers as asked, in a folder that goes with it."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from deploy.embedded.options import NICENESS
from deploy.embedded.servers import Home, PostgresServer
from muster.client import Client, connect
from muster.client.models import ExperimentDetail, Trial
from muster.client.settings import Address

ROOT = Path(__file__).parents[2]
TRIALS = Path(__file__).parent / "trials"
READY_S = 60.0


@dataclass(frozen=True, slots=True)
class Platform:
    """What a benchmark needs of it: a client, and its folder."""

    home: Path
    client: Client

    @property
    def database_url(self) -> str:
        """The administrator's address of the platform's database: benchmarks look where users cannot."""
        server = PostgresServer(Home(self.home))
        return server.url("postgres", server.password, "muster")

    def folders_of_runs(self, name: str) -> list[Path]:
        """The folders of this name in the folders of the runs that the workers hold now: a script sees no other folder of the machine."""
        return list((self.home / "workers").glob(f"*/runs/*/{name}"))

    def until_completed(self, experiment: UUID, look_s: float, timeout_s: float) -> ExperimentDetail:
        """Wait for its end; raises SystemExit where it is another one, or late: then with what its trials say, as all else goes with the folder."""
        end = time.monotonic() + timeout_s
        while not (now := self.client.experiments.get(experiment)).final:
            if time.monotonic() > end:
                trials = ", ".join(self._log_tail(trial) for trial in self.client.trials.list(experiment))
                raise SystemExit(
                    f"experiment {now.number} did not end within {timeout_s:g} s: {now.state}, {now.reason}; its trials: {trials}"
                )
            time.sleep(look_s)
        if now.state != "completed":
            raise SystemExit(f"experiment {now.number} ended as {now.state}: {now.reason}")
        return now

    def _log_tail(self, trial: Trial) -> str:
        lines = [line.text for line in self.client.trials.logs(trial.id, tail=5)]
        return f"{trial.number} is {trial.state} ({trial.reason}) in run {trial.runs} and printed {lines}"


class Database:
    """The platform's database, for benchmarks that wait for what they ask."""

    def __init__(self, bench: Platform) -> None:
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(asyncpg.connect(bench.database_url))

    def row(self, query: str, *given: object) -> asyncpg.Record | None:
        """The first row; None without any."""
        return self._runner.run(self._connection.fetchrow(query, *given))

    def value(self, query: str, *given: object) -> Any:
        """The first value of the first row; None without any."""
        return self._runner.run(self._connection.fetchval(query, *given))

    def close(self) -> None:
        """Let go of it."""
        self._runner.run(self._connection.close())
        self._runner.close()


@contextmanager
def platform(workers: int, runs_niceness: int | None = None, **gateway: str) -> Iterator[Platform]:
    """Start, wait until the workers are ready, and stop; the folder is removed. `gateway`: settings of it, by their names in the environment;
    `runs_niceness`: 0 where workers are to be as on machines that do nothing else, None as `muster up` has them."""
    home = Path(tempfile.mkdtemp(prefix="muster-bench-"))
    environment = {
        **os.environ,
        "MUSTER_HOME": str(home),
        "MUSTER_GATEWAY__PORT": "0",
        "MUSTER_PROVISIONER__MINIMUM": str(workers),
        "MUSTER_PROVISIONER__MAXIMUM": str(workers),
        **({} if runs_niceness is None else {NICENESS: str(runs_niceness)}),
        **{f"MUSTER_GATEWAY__{name}": value for name, value in gateway.items()},
    }
    try:
        _muster("up", environment)
        with connect(_address(home)) as client:
            _await_workers(client, workers)
            yield Platform(home, client)
    finally:
        _muster("down", environment)
        shutil.rmtree(home, ignore_errors=True)


def _address(home: Path) -> Address:
    found = json.loads((home / "client.json").read_text())
    return Address(found["url"], found["token"], str(home))


def _muster(command: str, environment: dict[str, str]) -> None:
    program = str(Path(sys.executable).with_name("muster"))
    subprocess.run([program, command], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=180)


def _await_workers(client: Client, workers: int) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        ready = [worker for worker in client.cluster.workers() if worker.state == "ready"]
        if len(ready) >= workers:
            time.sleep(3)  # their warm parents import torch meanwhile
            return
        time.sleep(0.2)
    raise SystemExit(f"the benchmark's platform did not have {workers} workers within {READY_S:g} s")
