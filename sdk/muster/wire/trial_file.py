"""The file that describes a trial to its ranks."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from muster.errors import Rejected
from muster.wire.frames import Json


@dataclass(frozen=True, slots=True)
class TrialFile:
    """Description of a trial for its ranks, usable while the worker's daemon is away; a JSON file named by `MUSTER_TRIAL`.

    Attributes:
        best: Best value of the metric in earlier runs that this run continues.
        worker: Worker of this machine, for messages about a full disk.
        disk: Folder to free when the disk is full.
        watch: Folder of `wire.heartbeat`.
        media: Folder of `wire.spool`.
        tensorboard: Folder for event files.
        takes_pixels: Whether the worker encodes raw pixels (`wire.png`).
    """

    socket: str
    size: int
    hparams: dict[str, Json]
    seed: int
    checkpoints: str
    latest_checkpoint: str | None = None
    time_metric: str | None = None
    data: dict[str, Json] = field(default_factory=dict)
    distributed: str = "horovod"
    optimizations: dict[str, Json] = field(default_factory=dict)
    worker: str = ""
    disk: str = ""
    watch: str = ""
    metric: str = ""
    on_nan: str = "continue"
    smaller_is_better: bool = True
    checkpoint_policy: str = "best"
    checkpoint_period: int | None = None
    checkpoint_period_unit: str = "batches"
    best: float | None = None
    profiling: dict[str, Json] = field(default_factory=dict)
    media: str = ""
    tensorboard: str = "runs"
    takes_pixels: bool = False


def read_trial_file(path: str) -> TrialFile:
    """Read the description. Raises Rejected if the file is not one."""
    try:
        with Path(path).open(encoding="utf-8") as source:
            content = json.load(source)
        known = {part.name for part in fields(TrialFile)}
        return TrialFile(**{name: value for name, value in content.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Rejected("trial_file", f"{path} does not describe a trial: {error}") from error


def trial_file_text(trial: TrialFile) -> str:
    """Return the content of the file."""
    return json.dumps(asdict(trial))
