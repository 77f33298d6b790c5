"""What user code hands in, checked in its own process: the message then points at the user's line."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from muster.errors import Rejected
from muster.wire import Json, is_disk_full

MAX_STEP = 2**63 - 1
DISK_FULL_BYTES = 1024 * 1024
NAME_BYTES = 256
TRAINING, VALIDATION = "training", "validation"
OWN_GROUPS = frozenset({VALIDATION, "system", "timing"})
"""The second and third are what the worker measures."""


class Hyperparameters(dict[str, Json]):
    """The trial's point of the search space; a missing name is an error that says how to give it."""

    def __missing__(self, name: str) -> Json:
        known = ", ".join(sorted(self)) or "none"
        raise KeyError(
            f"hyperparameter {name!r} is not given (given: {known}); add it to `hyperparameters` of the "
            "experiment, to muster.trial(defaults={…}), or to --hparams '{…}' when you run the script yourself"
        )


def check_step(step: object) -> int:
    """The step as an int of at least 0, within 64 bits."""
    try:
        number = step if type(step) is int else step.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        raise Rejected("step_invalid", f"a step is a whole number, not {step!r}", place="step") from None
    if not 0 <= number <= MAX_STEP:
        raise Rejected(
            "step_invalid", f"a step is at least 0 and at most {MAX_STEP}, not {number}", place="step"
        )
    return int(number)


def check_metrics(metrics: Mapping[str, object]) -> dict[str, float]:
    """Every metric as a float: numbers, numpy scalars and tensors of one element are taken; NaN is a number here."""
    if not metrics:
        raise Rejected("metric_missing", "give at least one metric, e.g. report(step, loss=0.3)")
    return {name: _number(name, value) for name, value in metrics.items()}


def check_group(group: object) -> str:
    """A name for a group of metrics as the registry takes it, and none of the platform's own."""
    if (
        not isinstance(group, str)
        or not group.strip()
        or not group.isprintable()
        or len(group.encode()) > NAME_BYTES
    ):
        raise Rejected(
            "group_invalid",
            f"a group of metrics has a name of 1 to {NAME_BYTES} bytes that can be shown, not {str(group)[:60]!r}",
            place="group",
        )
    if group in OWN_GROUPS:
        raise Rejected(
            "group_reserved",
            f"the group {group!r} is the platform's own",
            place="group",
            hint="call `trial.validate` for what the search goes by"
            if group == VALIDATION
            else "choose another name",
        )
    return group


def _number(name: str, value: object) -> float:
    if type(value) is float:
        return value
    if not isinstance(value, str | bytes | bytearray):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, RuntimeError, OverflowError):
            pass
    raise Rejected(
        "metric_invalid",
        f"a metric is one number, not {type(value).__name__} {str(value)[:60]!r}",
        place=name,
    )


def count_files(path: str) -> int:
    """Number of files below `path`; an empty checkpoint is a mistake worth an error."""
    return sum(len(names) for _, _, names in os.walk(path))


def is_disk_full_error(error: BaseException, folder: Path) -> bool:
    """Whether a write into `folder` failed for a full disk. torch says so by a bare RuntimeError: then the disk is looked at."""
    if is_disk_full(error):
        return True
    return (
        type(error) is RuntimeError and folder.exists() and shutil.disk_usage(folder).free < DISK_FULL_BYTES
    )
