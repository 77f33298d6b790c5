"""Running a training script without a platform: metrics are printed, checkpoints stay in ./checkpoints."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from muster import wire
from muster.errors import Rejected
from muster.wire import Json

ENV_HPARAMS = "MUSTER_HPARAMS"
ENV_LATEST = "MUSTER_LATEST_CHECKPOINT"
FLAG = "--hparams"


def describe(size: int, defaults: Mapping[str, Json], environment: Mapping[str, str]) -> wire.TrialFile:
    """Return the description of a trial that runs without a platform."""
    return wire.TrialFile(
        socket="",
        size=size,
        hparams={**defaults, **load_hparams(environment, sys.argv[1:])},
        seed=0,
        checkpoints=str(Path("checkpoints").absolute()),
        latest_checkpoint=environment.get(ENV_LATEST) or None,
    )


def load_hparams(environment: Mapping[str, str], arguments: Sequence[str]) -> dict[str, Json]:
    """Read hyperparameters from `MUSTER_HPARAMS`, then from `--hparams` (JSON, or @file with JSON); later values win.

    Raises:
        Rejected: A value is not a JSON object.
    """
    given = _parse(environment.get(ENV_HPARAMS, ""), ENV_HPARAMS)
    for index, argument in enumerate(arguments):
        if argument == FLAG and index + 1 < len(arguments):
            given |= _parse(arguments[index + 1], FLAG)
        elif argument.startswith(FLAG + "="):
            given |= _parse(argument.removeprefix(FLAG + "="), FLAG)
    return given


def _parse(text: str, place: str) -> dict[str, Json]:
    if not text:
        return {}
    try:
        value = json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    except (ValueError, OSError) as error:
        raise Rejected("hparams_invalid", f"invalid JSON: {error}", place=place) from error
    if not isinstance(value, dict):
        raise Rejected("hparams_invalid", "hyperparameters must be a JSON object", place=place)
    return value


class Console:
    """Replaces the worker: prints reports. There are no signals and no decisions."""

    def __init__(self) -> None:
        self.reports = self.validations = self.checkpoints = 0

    def report(self, point: wire.ReportFrame, urgent: bool) -> None:
        """Print and count a report; `urgent` has no effect here."""
        self.reports, self.validations = point.number, max(self.validations, point.validation)
        text = "  ".join(f"{name}={value:.6g}" for name, value in point.values.items())
        print(f"[muster] {point.group:<10} step {point.step}  {text}", flush=True)

    def print_checkpoint(self, step: int, directory: str) -> None:
        """Print a checkpoint."""
        print(f"[muster] checkpoint step {step}  {directory}", flush=True)
