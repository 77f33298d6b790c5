"""Huge pages for the warm parent: a fork copies the parent's page tables, which are smaller with 2 MiB pages.

Needs Linux with `transparent_hugepage/enabled` set to `madvise` or `always`; existing memory is moved from Linux 6.1 on
(MADV_COLLAPSE). Elsewhere nothing happens.
"""

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path

PAGE_BYTES = 2 * 1024 * 1024
LEAST_BYTES = 192 * 1024 * 1024
"""Smaller processes do not benefit: huge pages would cost them memory."""
_COLLAPSE = 25


def use_large_pages(least_bytes: int = LEAST_BYTES) -> None:
    """Move this process's current memory into huge pages, as far as available; later allocations are not affected.

    Takes some milliseconds per 10 MiB; other threads continue meanwhile.
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
    """Resident memory now; the peak would include the parent's."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def _own_memory() -> Iterator[tuple[int, int]]:
    """Yield the address ranges of whole huge pages in anonymous, writable mappings."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, _, _, inode, *name = line.split(maxsplit=5)
        if access != "rw-p" or inode != "0" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(address, 16) for address in span.split("-"))
        first, last = -(-start // PAGE_BYTES) * PAGE_BYTES, end // PAGE_BYTES * PAGE_BYTES
        if first < last:
            yield first, last
