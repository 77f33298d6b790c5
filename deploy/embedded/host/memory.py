"""Proportional set size: what a process really takes, pages shared with others divided among them."""

from collections.abc import Iterable
from contextlib import suppress

import psutil

from deploy.embedded.host.processes import ProcessId


def tree(roots: Iterable[ProcessId]) -> set[int]:
    """The pids of living processes and all that they started."""
    found: set[int] = set()
    for root in roots:
        if not root.is_alive():
            continue
        found.add(root.pid)
        with suppress(psutil.Error):
            found |= {child.pid for child in psutil.Process(root.pid).children(recursive=True)}
    return found


def pss_bytes(pids: Iterable[int]) -> int:
    """The sum over processes; those that have just ended, or are not ours to look at, count nothing."""
    total = 0
    for pid in pids:
        with suppress(psutil.Error, OSError, AttributeError):
            total += psutil.Process(pid).memory_full_info().pss
    return total
