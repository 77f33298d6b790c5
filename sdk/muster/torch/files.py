"""Files of tensors and plain values: written whole or not at all, read without running anything that stands in them."""

import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch

from muster._checkpoint_errors import abbreviate
from muster.errors import Rejected

_REFUSALS = (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, AttributeError, TypeError)
"""What torch raises for a whole file that is none of its own, or that holds foreign objects."""


def write_file(target: Path, content: dict[str, Any]) -> None:
    """Write under another name, then rename: a process killed meanwhile leaves no half of `target`."""
    unfinished = target.with_name(f".{target.name}.new")
    torch.save(content, unfinished)
    unfinished.replace(target)


def read_file(source: Path) -> dict[str, Any]:
    """Return what `write_file` wrote, its tensors on the CPU.

    The sums in the file are checked first, since torch itself reads over flipped bits.

    Raises:
        Rejected: It is missing, half there, changed, or holds what only unpickling could make (`checkpoint_unreadable`).
    """
    try:
        with zipfile.ZipFile(source) as packed:
            damaged = packed.testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"{damaged} was changed since it was written")
        content = torch.load(source, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise _unreadable(
            source, "there is no such file, so TrainingState did not write this checkpoint"
        ) from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise _unreadable(source, f"it is cut off, changed, or no file of tensors: {error}") from error
    except _REFUSALS as error:
        raise _unreadable(source, f"torch does not take it: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict):
        raise _unreadable(source, f"it holds a {type(content).__name__}, so TrainingState did not write it")
    return content


def _unreadable(source: Path, reason: str) -> Rejected:
    return Rejected(
        "checkpoint_unreadable",
        f"{abbreviate(source)} cannot be read: {reason}",
        hint="resume from another checkpoint of the trial, or from none",
    )
