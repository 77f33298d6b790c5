"""A disk of a few megabytes that a test may fill."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_PIECE = b"x" * 65536


@contextmanager
def small_disk(folder: Path, size_bytes: int, *options: str) -> Iterator[Path]:
    """A file system of its own at `folder`, with further options of tmpfs; the test is skipped where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={size_bytes}", *options)), "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk takes the right to mount one")
    try:
        yield folder
    finally:
        # Lazily: a process that is still ending may have its folder there.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """The disk is full, and what is freed is taken at once, until the end of the block."""
    ending = threading.Event()
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        _fill(file.fileno())
        taker = threading.Thread(target=_keep_full, args=(file.fileno(), ending))
        taker.start()
        try:
            yield
        finally:
            ending.set()
            taker.join()
            ballast.unlink()


def _keep_full(descriptor: int, ending: threading.Event) -> None:
    while not ending.wait(0.02):
        _fill(descriptor)


def _fill(descriptor: int) -> None:
    size = len(_PIECE)
    while size:
        with suppress(OSError):
            while os.write(descriptor, _PIECE[:size]) == size:
                continue
        size //= 2
