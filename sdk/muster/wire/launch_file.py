"""The file in which a worker describes a process that its warm parent starts. Only the new process reads it."""

import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path

from muster.wire.frames import Launch

LAUNCHES = "launches"
_FIELDS = frozenset(part.name for part in fields(Launch))


def write_launch(folder: Path, launch: Launch, owner: int | None = None) -> Path:
    """Write the file into `folder`, for its owner only (None: this user), and return its path.

    Raises:
        OSError: The disk is full or broken.
    """
    folder.mkdir(mode=0o711, exist_ok=True)
    path = folder / f"{launch.name.replace('/', '_')}.json"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(replace(launch, sandbox=None)), file)
        if owner is not None:
            os.fchown(file.fileno(), owner, owner)
    return path


def read_launch(path: str) -> Launch:
    """Read and remove the file. It has no `sandbox`: the frame has it."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    os.unlink(path)
    return Launch(**{name: value for name, value in content.items() if name in _FIELDS})
