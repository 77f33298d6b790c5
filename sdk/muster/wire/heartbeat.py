"""The ranks' signs of life: one small file of a run on each machine, a record for each local rank, written in place.

A file and no message: it costs a rank a microsecond, needs no daemon to be up, and one that was restarted finds it.
"""

import signal
import struct
from dataclasses import dataclass
from enum import IntEnum

_RECORD = struct.Struct("<QQQIB3x")
RECORD_BYTES = _RECORD.size
HEARTBEATS_FILE = "pulses"
STACKS_SIGNAL = signal.SIGRTMAX - 3
"""A rank that is past `muster.trial()` answers it with its Python stacks, whatever it waits in."""


def stacks_name(local_rank: int) -> str:
    """The file that a rank writes its stacks to, beside the pulses."""
    return f"{local_rank}.stacks"


class RankPhase(IntEnum):
    """What a rank is at. Of one that is `BUSY` (a checkpoint, its end) nothing is expected; one that is `ABSENT` has never been heard; of
    one that has `ENDED` only the process is left, which is to end too."""

    ABSENT = 0
    STARTING = 1
    STEPPING = 2
    BUSY = 3
    ENDED = 4


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A rank's newest sign of life.

    Attributes:
        at_ns: When (CLOCK_MONOTONIC, one for all processes of a machine).
        longest_ns: The longest that it has been without one since its rhythm is known: when the next is expected.
        thread: The thread that gave it, as Python numbers them.
        pid: The process.
    """

    at_ns: int
    longest_ns: int
    thread: int
    pid: int
    phase: RankPhase

    def pack(self) -> bytes:
        """The record of it."""
        return _RECORD.pack(self.at_ns, self.longest_ns, self.thread, self.pid, self.phase)


def read_heartbeats(data: bytes) -> list[Heartbeat]:
    """Every whole record, by local rank; one that user code has overwritten with nonsense is absent."""
    return [_read(values) for values in _RECORD.iter_unpack(data[: len(data) // RECORD_BYTES * RECORD_BYTES])]


def _read(values: tuple[int, int, int, int, int]) -> Heartbeat:
    at_ns, longest_ns, thread, pid, phase = values
    known = RankPhase(phase) if phase in set(RankPhase) else RankPhase.ABSENT
    return Heartbeat(at_ns, longest_ns, thread, pid, known)
