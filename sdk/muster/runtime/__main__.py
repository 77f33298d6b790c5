"""`python -m muster.runtime --directory D`: import the modules of ranks, then serve the worker's daemon."""

import argparse
import fcntl
import gc
import importlib
import os
import sys
import weakref
from pathlib import Path

from muster import wire
from muster._buffered_output import tolerate_full_disk
from muster.runtime.huge_pages import use_large_pages
from muster.runtime.isolation import become_subreaper, refuse_debugging
from muster.runtime.parent import WarmParent
from muster.wire.process_records import LOCK


def main() -> int:
    """Return 0, also if another warm parent already serves this directory."""
    parser = argparse.ArgumentParser(prog="muster.runtime", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument(
        "--warm", required=True, help="modules to import, separated by commas; missing modules are skipped"
    )
    parser.add_argument("--idle-exit-s", type=float, default=60.0)
    options = parser.parse_args()
    options.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(options.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    wire.write_pid(lock)
    tolerate_full_disk()
    become_subreaper()
    if os.getpid() == 1:  # the user of a container's processes is also the trial's
        refuse_debugging()
    warm = import_all([name for name in options.warm.split(",") if name])
    _settle()
    WarmParent(options.directory, warm, options.idle_exit_s).run()
    return 0


def import_all(names: list[str]) -> list[str]:
    """Import modules for ranks; return those that exist."""
    imported = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name} was not imported: {error}", file=sys.stderr, flush=True)
        else:
            imported.append(name)
    return imported


def _settle() -> None:
    """Reduce the work of forks: no garbage, no exit finalizers of imported modules, few pages to copy."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    gc.collect()
    gc.freeze()
    use_large_pages()


if __name__ == "__main__":
    sys.exit(main())
