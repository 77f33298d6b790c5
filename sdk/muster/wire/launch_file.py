"""The file in which a worker describes a process that its warm parent starts. Only the new process reads it."""

import json
import os
import tempfile
from dataclasses import asdict, fields, replace
from pathlib import Path

from muster.wire.frames import Launch

LAUNCHES = "launches"
_FIELDS = frozenset(part.name for part in fields(Launch))


def write_launch(folder: Path, launch: Launch, owner: int | None = None) -> Path:
    """Write a new file into `folder`, for its owner only (None: this user), and return its path.

    Raises:
        OSError: The disk is full or broken.
    """
    folder.mkdir(mode=0o711, exist_ok=True)
    # A repeated order has a file of its own: the process of the first may be reading the other one.
    descriptor, path = tempfile.mkstemp(".json", f"{launch.name.replace('/', '_')}.", folder)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(replace(launch, sandbox=None)), file)
        if owner is not None:
            os.fchown(file.fileno(), owner, owner)
    return Path(path)


def read_launch(path: str) -> Launch:
    """Read and remove the file. It has no `sandbox`: the frame has it."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    Path(path).unlink()
    return Launch(**{name: value for name, value in content.items() if name in _FIELDS})
