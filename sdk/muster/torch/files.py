"""Files of tensors and plain values: written atomically, read without executing their content."""

import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch

from muster._checkpoint_errors import abbreviate
from muster.errors import Rejected

_REFUSALS = (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, AttributeError, TypeError)
"""Exceptions of torch for a complete file in another format, or with arbitrary objects."""


def write_file(target: Path, content: dict[str, Any]) -> None:
    """Write to a temporary name, then rename: a killed process leaves no partial `target`."""
    unfinished = target.with_name(f".{target.name}.new")
    torch.save(content, unfinished)
    unfinished.replace(target)


def read_file(source: Path) -> dict[str, Any]:
    """Return the content written by `write_file`, with tensors on the CPU.

    Checksums are verified first, because torch ignores flipped bits.

    Raises:
        Rejected: The file is missing, truncated, modified, or contains objects that need unpickling (`checkpoint_unreadable`).
    """
    try:
        with zipfile.ZipFile(source) as packed:
            damaged = packed.testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"{damaged} was modified after it was written")
        content = torch.load(source, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise _unreadable(
            source, "the file is missing: this checkpoint was not written by TrainingState"
        ) from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise _unreadable(source, f"it is truncated, modified, or not a tensor file: {error}") from error
    except _REFUSALS as error:
        raise _unreadable(source, f"torch refuses it: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict):
        raise _unreadable(
            source, f"it contains a {type(content).__name__}: it was not written by TrainingState"
        )
    return content


def _unreadable(source: Path, reason: str) -> Rejected:
    return Rejected(
        "checkpoint_unreadable",
        f"{abbreviate(source)} cannot be read: {reason}",
        hint="resume from another checkpoint of the trial, or start without one",
    )
