"""Proportional set size: memory use, with shared pages divided among their processes."""

from collections.abc import Iterable
from contextlib import suppress

import psutil

from deploy.embedded.host.processes import ProcessId


def tree(roots: Iterable[ProcessId]) -> set[int]:
    """Return the pids of living processes and all their descendants."""
    found: set[int] = set()
    for root in roots:
        if not root.is_alive():
            continue
        found.add(root.pid)
        with suppress(psutil.Error):
            found |= {child.pid for child in psutil.Process(root.pid).children(recursive=True)}
    return found


def pss_bytes(pids: Iterable[int]) -> int:
    """Return the sum over processes; ended or inaccessible ones count as 0."""
    total = 0
    for pid in pids:
        with suppress(psutil.Error, OSError, AttributeError):
            total += psutil.Process(pid).memory_full_info().pss
    return total
