"""Heartbeats of ranks: one small file per run and machine, with a record per local rank, written in place.

A file instead of messages: a write costs a rank a microsecond, needs no running daemon, and survives a daemon's restart.
"""

import signal
import struct
from dataclasses import dataclass
from enum import IntEnum

_RECORD = struct.Struct("<QQQIB3x")
RECORD_BYTES = _RECORD.size
HEARTBEATS_FILE = "pulses"
STACKS_SIGNAL = signal.SIGRTMAX - 3
"""Signal on which a rank that has called `muster.trial()` dumps its Python stacks, even while it waits."""


def stacks_name(local_rank: int) -> str:
    """Name of the file for a rank's stacks, beside the heartbeats."""
    return f"{local_rank}.stacks"


class RankPhase(IntEnum):
    """State of a rank. `BUSY` (checkpoint, end) expects no steps; `ABSENT` has never sent a heartbeat; `ENDED` means that only the
    process remains and is expected to exit.
    """

    ABSENT = 0
    STARTING = 1
    STEPPING = 2
    BUSY = 3
    ENDED = 4


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The latest heartbeat of a rank.

    Attributes:
        at_ns: Time of the heartbeat (CLOCK_MONOTONIC, shared by all processes of a machine).
        longest_ns: Longest pause between heartbeats since the pace is known, which predicts the next one.
        thread: Python's identifier of the thread that sent it.
        pid: Process id.
    """

    at_ns: int
    longest_ns: int
    thread: int
    pid: int
    phase: RankPhase

    def pack(self) -> bytes:
        """Encode the record."""
        return _RECORD.pack(self.at_ns, self.longest_ns, self.thread, self.pid, self.phase)


def read_heartbeats(data: bytes) -> list[Heartbeat]:
    """Decode all complete records, by local rank; records overwritten by user code count as absent."""
    return [_read(values) for values in _RECORD.iter_unpack(data[: len(data) // RECORD_BYTES * RECORD_BYTES])]


def _read(values: tuple[int, int, int, int, int]) -> Heartbeat:
    at_ns, longest_ns, thread, pid, phase = values
    known = RankPhase(phase) if phase in set(RankPhase) else RankPhase.ABSENT
    return Heartbeat(at_ns, longest_ns, thread, pid, known)
