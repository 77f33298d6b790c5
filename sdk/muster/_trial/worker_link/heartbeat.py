"""Heartbeat of this rank, by which its worker detects hangs. A beat costs a clock reading, and occasionally a write."""

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from muster._trial.profiling.step_timings import Activity, Timings
from muster.wire.heartbeat import (
    HEARTBEATS_FILE,
    RECORD_BYTES,
    STACKS_SIGNAL,
    Heartbeat,
    RankPhase,
    stacks_name,
)

RHYTHM_BEATS = 5
"""Beats after which at least one whole step was seen, however many calls a step makes."""
WRITE_EVERY_NS = 100_000_000


class HeartbeatWriter:
    """Beats at each report, validation, checkpoint and `should_stop` call."""

    def __init__(self, folder: str, local_rank: int, timings: Timings | None = None) -> None:
        """Open this rank's record in the worker's folder and register the stack dump signal. Without the folder, beats are not
        recorded and training is unaffected. `timings` accumulates step timings of profiled runs.
        """
        self.timings = timings
        self._at_ns = time.monotonic_ns()
        self._write_after_ns = 0
        self._longest_ns = 0
        self._beats = 0
        self._is_busy = self._has_ended = False
        self._offset = local_rank * RECORD_BYTES
        self._pid = os.getpid()
        self._file: int | None = None
        with suppress(ValueError):  # only the main thread may set signals
            # After interpreter shutdown, the signal must be ignored instead of killing the process.
            signal.signal(STACKS_SIGNAL, signal.SIG_IGN)
        with suppress(OSError, ValueError):
            self._file = os.open(Path(folder, HEARTBEATS_FILE), os.O_WRONLY | os.O_CLOEXEC)
            self._stacks = Path(folder, stacks_name(local_rank)).open("ab", buffering=0)  # noqa: SIM115 - as long as the process
            faulthandler.register(STACKS_SIGNAL, self._stacks, all_threads=True)
        self._write()

    def beat(self) -> None:
        """Record a beat. The first beats measure the pace; the longest pause since then predicts the next beat."""
        now_ns = time.monotonic_ns()
        pause_ns = now_ns - self._at_ns
        self._at_ns = now_ns
        if self._is_busy:
            return
        if self._beats < RHYTHM_BEATS:
            self._learn(pause_ns)
        elif pause_ns > self._longest_ns:
            self._longest_ns = pause_ns
        if now_ns >= self._write_after_ns:
            self._write()

    def on_step(self, step: int) -> None:
        """Record that the beat belongs to this step."""
        if self.timings:
            self.timings.on_step(step)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Suspend the expectation of steps; the duration of the block does not affect the pace."""
        was_busy, self._is_busy = self._is_busy, True
        self._write()
        began_ns = self.timings.begin() if self.timings else 0
        try:
            yield
        finally:
            if self.timings:
                self.timings.end(Activity.BUSY, began_ns)
            self._at_ns = time.monotonic_ns()
            self._is_busy = was_busy
            self._write()

    def close(self) -> None:
        """Stop expecting beats."""
        self._is_busy = True
        self._write()
        if self.timings:
            self.timings.close()

    def end(self) -> None:
        """Mark the script as finished; only the exit of the process is expected."""
        self._at_ns = time.monotonic_ns()
        self._has_ended = True
        self._write()

    def _learn(self, pause_ns: int) -> None:
        # The pause before the first beat is startup, not a step.
        self._longest_ns = max(self._longest_ns, pause_ns) if self._beats else 0
        self._beats += 1
        self._write_after_ns = 0

    def _write(self) -> None:
        if self._file is None or os.getpid() != self._pid:
            return
        self._write_after_ns = self._at_ns + WRITE_EVERY_NS
        if self._has_ended:
            phase = RankPhase.ENDED
        elif self._is_busy:
            phase = RankPhase.BUSY
        else:
            phase = RankPhase.STEPPING if self._beats >= RHYTHM_BEATS else RankPhase.STARTING
        pulse = Heartbeat(self._at_ns, self._longest_ns, threading.get_ident(), self._pid, phase)
        with suppress(OSError):
            os.pwrite(self._file, pulse.pack(), self._offset)
