"""Servers and services are let in soon, for a short while each time; what a worker starts, and what gives way, is not."""

import os
import platform
import sys
import threading
from pathlib import Path

import pytest

from deploy.embedded.processes import Command, run_to_end
from shared.slices import SHORT_NS, begun_to_give_way

_OWN = """
import ctypes, sys
from shared.slices import USUAL_NS, ask_slices
attributes = (ctypes.c_uint64 * 6)()
def told():
    ctypes.CDLL(None).syscall({"x86_64": 315, "aarch64": 275}[sys.argv[1]], 0, ctypes.byref(attributes), 48, 0)
    print(attributes[3])
told()
ask_slices(USUAL_NS)
told()
"""


def slices_of(folder: Path, niceness: int) -> list[int]:
    """What a process is given that is started so, and what after it has asked for the usual."""
    log = folder / f"{niceness}.log"
    arguments = (sys.executable, "-c", _OWN, platform.machine())
    command = Command(arguments, {"PYTHONPATH": ":".join(sys.path)}, log, folder, niceness=niceness)
    assert run_to_end(command, 30.0) == 0, log.read_text()
    return [int(line) for line in log.read_text().split()]


def test_who_serves_takes_short_slices_and_what_it_starts_can_have_the_usual(tmp_path: Path) -> None:
    serving, usual = slices_of(tmp_path, 0)
    if usual == 0:
        pytest.skip("this kernel lets nobody choose: it is older than 6.12")
    assert serving == SHORT_NS < usual
    assert slices_of(tmp_path, 5) == [usual, usual]


def test_threads_that_are_begun_to_give_way_do_and_the_others_do_not() -> None:
    ended = threading.Event()
    before, begun = (threading.Thread(target=ended.wait, daemon=True) for _ in range(2))
    before.start()
    try:
        with begun_to_give_way(3):
            begun.start()
        own = os.getpriority(os.PRIO_PROCESS, 0)
        found = [os.getpriority(os.PRIO_PROCESS, thread.native_id or 0) for thread in (before, begun)]
        assert found == [own, own + 3]
    finally:
        ended.set()
