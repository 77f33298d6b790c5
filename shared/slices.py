"""How long a thread has a processor at a time, where others want it too (Linux 6.12 and newer; elsewhere nothing changes).

Whoever asks for less at a time is let in sooner when it wakes up, and gets no more of a processor in the long run: a service that waits for a database
forty times to answer one request, beside a training that never waits (decision 0224).
"""

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SHORT_NS = 100_000
"""The least that Linux takes."""
USUAL_NS = 0
"""What Linux gives who asks for nothing."""
_CALLS = {"x86_64": 314, "aarch64": 274}
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """`struct sched_attr`, as far as the first kernels knew it; `runtime_ns` is the slice where the policy is the ordinary one."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("niceness", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    )


def ask_slices(length_ns: int, niceness: int | None = None) -> None:
    """Have this thread, and what it starts from now on, take slices of this length, and give way by this niceness (None: as it does). What the kernel
    answers is left alone: nobody depends on it."""
    call = _CALLS.get(platform.machine())
    if call is None:
        return
    given = os.getpriority(os.PRIO_PROCESS, 0) if niceness is None else niceness
    size = ctypes.sizeof(_Attributes)
    asked = _Attributes(size=size, niceness=given, runtime_ns=length_ns)
    _LIBC.syscall(call, 0, ctypes.byref(asked), 0)


@contextmanager
def begun_to_give_way(niceness: int) -> Iterator[None]:
    """Threads that are begun inside, by whatever library, give way to those of before, by so much more than they do."""
    before = _threads()
    yield
    given = os.getpriority(os.PRIO_PROCESS, 0)
    for thread in _threads() - before:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, given + niceness)


def _threads() -> set[int]:
    """Of this process; none where the kernel shows none."""
    tasks = Path("/proc/self/task")
    return {int(thread.name) for thread in tasks.iterdir()} if tasks.exists() else set()
