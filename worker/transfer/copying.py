"""Copies directories completely or not at all."""

import os
import shutil
from pathlib import Path

from worker.sandbox.trial_files import remove_tree


def copy_folder(source: Path, target: Path) -> None:
    """Copy the files of `source` into `target` (no links: a run may modify them).

    Raises:
        OSError: The first failure; `target` is emptied, which frees space on a full disk.
    """
    try:
        for folder, _, names in os.walk(source):
            into = target / Path(folder).relative_to(source)
            into.mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copy2(Path(folder, name), into / name)
    except OSError:
        remove_tree(target)
        target.mkdir(parents=True, exist_ok=True)
        raise
