"""The steps of the demo: search, train the best point on two workers, register, download, evaluate."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy.demo.platform import ROOT, Platform
from muster.cli.base.output import busy, size
from muster.cli.experiments.watch import watch
from muster.client import Client
from muster.client.forking import best_point, merge_patch
from muster.client.models import ExperimentDetail, ModelVersion
from muster.errors import MusterError

EXAMPLE = ROOT / "examples" / "digits"
CONFIG = EXAMPLE / "adaptive_asha.yaml"
MODEL = "digits"
MIN_ACCURACY = 0.97
TRIALS = 16
SEARCH_TIMEOUT_S = 900.0
TRAINING_TIMEOUT_S = 300.0
WORKER_TIMEOUT_S = 60.0

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


class Failed(Exception):
    """A step failed; the message contains the next step to take."""


@dataclass(frozen=True, slots=True)
class Result:
    """The results: experiment and version numbers, accuracy, worker counts over time."""

    search: int
    best: int
    version: int
    accuracy: float
    workers: str


class Machines:
    """Tracks the number of ready workers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._counts: list[int] = []

    def line(self) -> str:
        """Count the ready workers and return a status line."""
        workers = [worker for worker in self._client.cluster.workers() if worker.state == "ready"]
        if [len(workers)] != self._counts[-1:]:
            self._counts.append(len(workers))
        used = sum(worker.used_slots for worker in workers)
        slots = sum(worker.slots for worker in workers)
        return f"{len(workers)} worker{'s' * (len(workers) != 1)}, {used} of {slots} slots in use"

    def await_first(self) -> None:
        """Return once a worker is ready: the provisioner starts the pool's minimum automatically.

        Raises:
            Failed: No worker joined within WORKER_TIMEOUT_S.
        """
        deadline = time.monotonic() + WORKER_TIMEOUT_S
        while not any(worker.state == "ready" for worker in self._client.cluster.workers()):
            if time.monotonic() > deadline:
                raise Failed(
                    f"no worker joined within {WORKER_TIMEOUT_S:g} s: see the provisioner's and the workers' logs "
                    "in .muster/logs and .muster/workers"
                )
            time.sleep(0.1)

    @property
    def course(self) -> str:
        """Return `1 → 2`."""
        return " → ".join(map(str, self._counts))

    @property
    def maximum(self) -> int:
        return max(self._counts, default=0)


class Times:
    """Duration of each step."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, float]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Announce a step and measure its duration."""
        console.rule(f"[bold]{len(self.taken) + 1}. {name}", align="left")
        began = time.monotonic()
        yield
        self.taken.append((name, time.monotonic() - began))


def run(platform: Platform) -> None:
    """Run every step and print the results.

    Raises:
        Failed: A step failed.
        MusterError: The platform refused a request or became unavailable.
    """
    times = Times()
    with platform.client() as client:
        machines = Machines(client)
        with busy("waiting for the first worker"):
            machines.await_first()
        with times.step(f"search {TRIALS} points on one worker, then two"):
            search = _search(client, machines)
        with times.step("train the best point on both workers by Horovod"):
            best = _train_best(client, search, machines)
        with times.step(f"register it as model {MODEL}"):
            version = _register(client, best)
        directory = platform.home / "demo" / f"{MODEL}-{version.number}-{version.id}"
        with times.step("download it and check its hashes"):
            _download(client, version, directory)
        with times.step("evaluate it on held-out images"):
            accuracy = _evaluate(directory)
    _print_end(Result(search.number, best.number, version.number, accuracy, machines.course), times)
    _print_next(platform.started_here, search.number, best.number)


def _search(client: Client, machines: Machines) -> ExperimentDetail:
    made = client.experiments.create(CONFIG.read_text(), EXAMPLE)
    console.print(f"experiment {made.number}: {made.searcher} by {made.metric}")
    machines.line()
    with _killed_when_left(client, made):
        ended = watch(client, str(made.number), SEARCH_TIMEOUT_S, machines.line)
    counts = ended.trials
    if ended.state != "completed" or counts.error or counts.completed + counts.stopped != TRIALS:
        raise Failed(
            f"the search ended as {ended.state} ({ended.reason or 'no reason given'}) with {counts.completed} completed, "
            f"{counts.stopped} stopped and {counts.error} failed trials of {TRIALS}: see `muster experiment logs {ended.number}`"
        )
    if machines.maximum < 2:
        raise Failed(
            f"the pool stayed at {machines.maximum} worker although trials waited: see `muster pool list` and "
            "`logs/provisioner.log` in the platform's folder"
        )
    console.print(
        f"{counts.completed} trials trained to the end, {counts.stopped} were stopped early; "
        f"ready workers: {machines.course}"
    )
    return ended


def _train_best(client: Client, search: ExperimentDetail, machines: Machines) -> ExperimentDetail:
    wanted = best_point(client, search)
    wanted |= {"name": f"{MODEL}-best", "resources": {"slots_per_trial": 2}}
    made = client.experiments.fork(search.number, merge_patch(search.config, wanted))
    with _killed_when_left(client, made):
        ended = watch(client, str(made.number), TRAINING_TIMEOUT_S, machines.line)
    runs = client.trials.runs(f"{ended.number}.1").all()
    workers = {member.worker for member in runs[-1].members} if runs else set[str]()
    if ended.state != "completed" or ended.best is None:
        raise Failed(
            f"training the best point ended as {ended.state} ({ended.reason or 'no reason given'}): "
            f"see `muster trial logs {ended.number}.1`"
        )
    if len(workers) != 2:
        raise Failed(
            f"the training ran on {len(workers)} worker{'s' * (len(workers) != 1)} instead of two: see `muster worker list` and `muster pool list`"
        )
    console.print(f"two ranks on {' and '.join(sorted(workers))}: validation accuracy {ended.best.value:.4f}")
    return ended


@contextmanager
def _killed_when_left(client: Client, experiment: ExperimentDetail) -> Iterator[None]:
    """Kill the experiment if the block fails: the next demo would wait for it."""
    try:
        yield
    except BaseException:
        with suppress(MusterError):
            client.experiments.kill(experiment.number)
        raise


def _register(client: Client, best: ExperimentDetail) -> ModelVersion:
    if all(model.name != MODEL for model in client.models.list(name_contains=MODEL)):
        client.models.create(MODEL, description="Handwritten digits, 8 x 8 pixels: examples/digits")
    checkpoint = client.checkpoints.best_of(best)
    version = client.models.register(MODEL, checkpoint.id, comment=f"experiment {best.number}")
    console.print(f"{MODEL} version {version.number}: checkpoint of step {version.lineage.step}")
    return version


def _download(client: Client, version: ModelVersion, directory: Path) -> None:
    got = client.models.download(MODEL, directory, version.number)
    total = sum(file.size_bytes for file in got.files)
    files = "one file" if len(got.files) == 1 else f"{len(got.files)} files"
    console.print(f"{files}, {size(total)}, all hashes verified: {directory}", soft_wrap=True)


def _evaluate(directory: Path) -> float:
    command = [sys.executable, "evaluate.py", str(directory)]
    done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, timeout=120, check=False)
    fields = done.stdout.split()
    if done.returncode or len(fields) != 2:
        last = (done.stderr.strip().splitlines() or ["no error output"])[-1]
        raise Failed(
            f"the downloaded model cannot be evaluated ({last}): try `python evaluate.py {directory}` in {EXAMPLE}"
        )
    accuracy = float(fields[1])
    console.print(f"accuracy on the held-out set: [bold green]{accuracy:.4f}[/]")
    if accuracy < MIN_ACCURACY:
        raise Failed(
            f"the accuracy is {accuracy:.4f}, less than {MIN_ACCURACY}: compare the trials by `muster trial list NUMBER --best`"
        )
    return accuracy


def _print_end(result: Result, times: Times) -> None:
    console.rule("[bold]done", align="left")
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, taken_s in times.taken:
        table.add_row(name, f"{taken_s:.1f} s")
    table.add_row("model", f"{MODEL} version {result.version}, from experiment {result.best}")
    table.add_row("workers", result.workers)
    table.add_row("accuracy", f"[bold green]{result.accuracy:.4f}[/]")
    console.print(table)


def _print_next(started_here: bool, search: int, best: int) -> None:
    console.print("\nWhere to look next:")
    commands = [
        (f".venv/bin/muster trial list {search} --best", "the points that were tried"),
        (f".venv/bin/muster experiment metrics {best}", "metrics of the training on two workers"),
        (f".venv/bin/muster trace {search}", "the request's trace through the services"),
        (f".venv/bin/muster model describe {MODEL}", "where the versions come from"),
        ("README.md", "your own first experiment"),
    ]
    if started_here:
        commands.insert(0, ("make up", "starts the platform again with all results"))
    for command, what in commands:
        console.print(f"  {command:<42} [dim]{what}[/]", soft_wrap=True)
