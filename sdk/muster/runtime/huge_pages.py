"""Large pages for the warm parent: a fork copies the page tables of its parent, which are shorter for pages of 2 MiB.

Linux supports them where `transparent_hugepage/enabled` is `madvise` or `always`, and moves existing memory into them from 6.1 on
(MADV_COLLAPSE); elsewhere nothing happens.
"""

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path

PAGE_BYTES = 2 * 1024 * 1024
LEAST_BYTES = 192 * 1024 * 1024
"""Smaller processes gain nothing: large pages would cost them memory."""
_COLLAPSE = 25


def use_large_pages(least_bytes: int = LEAST_BYTES) -> None:
    """Move this process's own memory into large pages, as far as the system has them; what it asks for later is not concerned.

    Takes some milliseconds for each 10 MiB; other threads go on meanwhile.
    """
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None or _held_bytes() < least_bytes:
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for first, last in _own_memory():
        madvise(first, last - first, advice)
        madvise(first, last - first, _COLLAPSE)


def _held_bytes() -> int:
    """What it has in memory now; the most that it ever had begins with what its parent had."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def _own_memory() -> Iterator[tuple[int, int]]:
    """The whole large pages of each anonymous, writable stretch: from and to which address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, _, _, inode, *name = line.split(maxsplit=5)
        if access != "rw-p" or inode != "0" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(address, 16) for address in span.split("-"))
        first, last = -(-start // PAGE_BYTES) * PAGE_BYTES, end // PAGE_BYTES * PAGE_BYTES
        if first < last:
            yield first, last
