"""Accumulates where a profiled rank's time goes. `instrumentation` instruments loaders and collectives; the worker reads the result."""

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import ParamSpec, TypeVar

from muster.wire.timing import TIMING_BYTES, TIMINGS, ProfilingRange, Timing

WRITE_EVERY_NS = 100_000_000

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Activity(IntEnum):
    """Activities of a training thread other than computing."""

    DATA = 0
    COMMUNICATION = 1
    BUSY = 2


class Timings:
    """Accumulates the time of one thread per activity. Of nested activities, the outermost counts; other threads and forks are ignored.

    Costs one comparison per step and two clock readings per wait.
    """

    def __init__(
        self, folder: str, local_rank: int, told: ProfilingRange, look: "Callable[[Timings], None]"
    ) -> None:
        """Open this rank's record in the worker's folder; without it, timings are not recorded and nothing fails.

        Args:
            look: Called now and at each write, to instrument modules imported since.
        """
        self._profiled, self._look = told, look
        self._spent_ns = [0, 0, 0]
        self._samples = 0
        self._is_on = told.goes_on_after(0)
        self._is_inside = False
        self._thread = self._own_thread = threading.get_ident()
        self._pid = os.getpid()
        self._write_after_ns = 0
        self._unwritten: tuple[int, ...] = ()
        self._offset = local_rank * TIMING_BYTES
        self._file: int | None = None
        with suppress(OSError, ValueError):
            self._file = os.open(Path(folder, TIMINGS), os.O_WRONLY | os.O_CLOEXEC)
        look(self)

    @contextmanager
    def within(self, part: Activity) -> Iterator[None]:
        """Attribute the time of the block to this activity."""
        began_ns = self.begin()
        try:
            yield
        finally:
            self.end(part, began_ns)

    @contextmanager
    def standing_in(self) -> Iterator[None]:
        """Measure in this thread, on which the training thread waits, instead of the training thread."""
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = self._own_thread

    def timed(self, part: Activity, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """Return the function, with its time attributed to this activity."""

        @functools.wraps(function)
        def call(*given: Given.args, **named: Given.kwargs) -> Result:
            began_ns = self.begin()
            try:
                return function(*given, **named)
            finally:
                self.end(part, began_ns)

        return call

    def begin(self) -> int:
        """Start an activity unless one is running; returns a value for `end`."""
        if not self._is_on or self._is_inside or threading.get_ident() != self._thread:
            return 0
        began_ns = self._now_ns()
        self._is_inside = True
        return began_ns

    def end(self, part: Activity, began_ns: int) -> None:
        """End the activity that `begin` started."""
        if began_ns:
            self.add(part, self._now_ns() - began_ns)
            self._is_inside = False

    def add(self, part: Activity, spent_ns: int) -> None:
        """Add time measured elsewhere."""
        self._spent_ns[part] += spent_ns

    def count(self, samples: int) -> None:
        """Count training samples."""
        if self._is_on and threading.get_ident() == self._thread:
            self._samples += samples

    def on_step(self, step: int) -> None:
        """Record a reported step."""
        was_on, self._is_on = self._is_on, self._profiled.goes_on_after(step)
        if not (was_on or self._is_on):
            return
        now_ns = time.monotonic_ns()
        self._unwritten = (now_ns, step, self._samples, *self._spent_ns, self._pid)
        if was_on != self._is_on or now_ns >= self._write_after_ns:
            self._write_after_ns = now_ns + WRITE_EVERY_NS
            self._look(self)
            self._write()

    def close(self) -> None:
        """Write the steps since the last write."""
        if self._unwritten:
            self._write()

    def _write(self) -> None:
        timing, self._unwritten = Timing(*self._unwritten), ()
        if self._file is not None and os.getpid() == self._pid:
            with suppress(OSError):
                os.pwrite(self._file, timing.pack(), self._offset)

    def _now_ns(self) -> int:
        if (
            self._profiled.sync_timings
            and (torch := sys.modules.get("torch"))
            and torch.cuda.is_initialized()
        ):
            torch.cuda.synchronize()
        return time.monotonic_ns()
