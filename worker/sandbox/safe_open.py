"""Opens files that ranks write as their own user, without following links, pipes or devices."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def opened(path: Path) -> Iterator[int | None]:
    """Open a regular file for reading; yield None if it is missing or anything else."""
    file = None
    try:
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        is_plain = file is not None and stat.S_ISREG(os.fstat(file).st_mode)
        yield file if is_plain else None
    finally:
        if file is not None:
            os.close(file)
