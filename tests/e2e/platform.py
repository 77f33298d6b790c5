"""The running platform as the end-to-end tests see it."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from muster.client import Client
from muster.client.models import ExperimentDetail
from muster.config import load_config
from muster.errors import MusterError
from tests.support.command_line import Ended, run

ROOT = Path(__file__).resolve().parents[2]
TOY = Path(__file__).parent / "toy"
TIMEOUT_S = 150.0


@dataclass(frozen=True)
class Platform:
    """A running platform: its folder, the environment that leads to it, and a client."""

    home: Path
    environment: dict[str, str]
    client: Client

    def muster(self, *arguments: str, cwd: Path = TOY, stdin: str = "") -> Ended:
        """Run the command line."""
        return run(*arguments, environment=self.environment, folder=cwd, given=stdin)

    def create(self, searcher: dict[str, object] | None = None, **changes: object) -> ExperimentDetail:
        """Create an experiment of the toy; `changes` replace keys of its config."""
        config: dict[str, object] = {
            "name": "toy",
            "entrypoint": "python3 train.py",
            "hyperparameters": {"x": 1.0},
            "searcher": searcher or {"name": "single", "metric": "loss"},
        }
        return self.client.experiments.create(json.loads(load_config(config | changes).to_json()), TOY)

    def completed(self, experiment: ExperimentDetail) -> ExperimentDetail:
        """Wait for the experiment, which must complete; else its reason and the end of its log are told."""
        ended = self.wait(experiment)
        if ended.state != "completed":
            lines = [line.text for line in self.client.experiments.logs(experiment.number, tail=20)]
            raise AssertionError(f"experiment {ended.number} ended as {ended.state}: {ended.reason}; {lines}")
        return ended

    def until(self, claim: Callable[[], bool]) -> None:
        """Wait until a claim holds; the gateway may be away meanwhile."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            with suppress(MusterError):
                if claim():
                    return
            time.sleep(0.1)
        raise AssertionError(f"a claim did not hold within {TIMEOUT_S:g} s")

    def log_of(self, trial: UUID | str, *, has: str, times: int = 1) -> list[str]:
        """A trial's lines, once so many say `has`: they are stored apart from what ends an experiment, perhaps later."""

        def lines() -> list[str]:
            return [line.text for line in self.client.trials.logs(trial)]

        self.until(lambda: sum(has in line for line in lines()) >= times)
        return lines()

    def wait(self, experiment: ExperimentDetail) -> ExperimentDetail:
        """Return the experiment once it is final."""
        return self.client.experiments.wait(experiment.number, timeout_s=TIMEOUT_S)
