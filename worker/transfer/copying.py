"""Folders copied whole or not at all."""

import os
import shutil
from pathlib import Path


def copy_folder(source: Path, target: Path) -> None:
    """Copy the files of `source` into `target`, as copies and no links: a run may write into what it is given.

    Raises:
        OSError: The first failure's own; `target` is empty then, so that a full disk gets its room back.
    """
    try:
        for folder, _, names in os.walk(source):
            into = target / Path(folder).relative_to(source)
            into.mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copy2(Path(folder, name), into / name)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        raise
