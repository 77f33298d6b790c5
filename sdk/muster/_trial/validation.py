"""Validation of arguments in the user's process, so that errors point at the user's line."""

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
"""Groups with a fixed meaning; the worker measures the last two."""


class Hyperparameters(dict[str, Json]):
    """Hyperparameters of the trial; a missing name raises an error that says how to set it."""

    def __missing__(self, name: str) -> Json:
        known = ", ".join(sorted(self)) or "none"
        raise KeyError(
            f"hyperparameter {name!r} is missing (available: {known}); add it to `hyperparameters` of the "
            "experiment, to muster.trial(defaults={…}), or to --hparams '{…}' when you run the script without a platform"
        )


def check_step(step: object) -> int:
    """Return the step as an int from 0 to 2^63 - 1."""
    try:
        number = step if type(step) is int else step.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        raise Rejected("step_invalid", f"a step must be a whole number, not {step!r}", place="step") from None
    if not 0 <= number <= MAX_STEP:
        raise Rejected("step_invalid", f"a step must be from 0 to {MAX_STEP}, not {number}", place="step")
    return int(number)


def check_metrics(metrics: Mapping[str, object]) -> dict[str, float]:
    """Return all metrics as floats. Numbers, numpy scalars and tensors of one element are accepted; NaN is accepted."""
    if not metrics:
        raise Rejected("metric_missing", "pass at least one metric, e.g. report(step, loss=0.3)")
    return {name: _number(name, value) for name, value in metrics.items()}


def check_group(group: object) -> str:
    """Return a valid name of a metric group that is not reserved."""
    if (
        not isinstance(group, str)
        or not group.strip()
        or not group.isprintable()
        or len(group.encode()) > NAME_BYTES
    ):
        raise Rejected(
            "group_invalid",
            f"the name of a metric group must be 1 to {NAME_BYTES} printable bytes, not {str(group)[:60]!r}",
            place="group",
        )
    if group in OWN_GROUPS:
        raise Rejected(
            "group_reserved",
            f"the group {group!r} is reserved",
            place="group",
            hint="call `trial.validate` for validation metrics"
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
        f"a metric must be a single number, not {type(value).__name__} {str(value)[:60]!r}",
        place=name,
    )


def count_files(path: str) -> int:
    """Return the number of files below `path`, to detect empty checkpoints."""
    return sum(len(names) for _, _, names in os.walk(path))


def is_disk_full_error(error: BaseException, folder: Path) -> bool:
    """Whether a write into `folder` failed because the disk is full. torch raises a bare RuntimeError, so free space is checked."""
    if is_disk_full(error):
        return True
    return (
        type(error) is RuntimeError and folder.exists() and shutil.disk_usage(folder).free < DISK_FULL_BYTES
    )
