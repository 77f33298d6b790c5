"""The file that describes a trial to its ranks."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from muster.errors import Rejected
from muster.wire.frames import Json


@dataclass(frozen=True, slots=True)
class TrialFile:
    """What a rank must know to start even while its worker's daemon is away; a JSON file named by `MUSTER_TRIAL`.

    `best`: the metric's best in the trial's runs before this one, as far as it goes on from them. `worker` and `disk` say whose disk it is that may be full, and which folder of it can be freed; `watch` is the folder of `wire.pulse`, `media` that of `wire.spool`, `tensorboard` the one for event files; `takes_pixels`: the worker makes files of `wire.pixels`.
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
    """Raises Rejected where the file is not a description of a trial."""
    try:
        with Path(path).open(encoding="utf-8") as source:
            content = json.load(source)
        known = {part.name for part in fields(TrialFile)}
        return TrialFile(**{name: value for name, value in content.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Rejected("trial_file", f"{path} does not describe a trial: {error}") from error


def trial_file_text(trial: TrialFile) -> str:
    """The file's text."""
    return json.dumps(asdict(trial))
