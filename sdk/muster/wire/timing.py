"""Step timings of profiled ranks: one record per local rank in a file of the run, as in `wire.heartbeat`."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from muster.wire.frames import Json

_RECORD = struct.Struct("<7Q")
TIMING_BYTES = _RECORD.size
TIMINGS = "timings"


@dataclass(frozen=True, slots=True)
class ProfilingRange:
    """The `profiling` section of a profiled run."""

    begin_on_batch: int = 0
    end_after_batch: int | None = None
    sync_timings: bool = False

    def is_on_after(self, step: int) -> bool:
        """Whether the steps after this one are profiled."""
        return step + 1 >= self.begin_on_batch and not self.is_over_after(step)

    def is_over_after(self, step: int) -> bool:
        """Whether no later step is profiled."""
        return self.end_after_batch is not None and step >= self.end_after_batch


def read_profiled(section: Mapping[str, Json]) -> ProfilingRange | None:
    """Read the validated section; None if it is empty, because the run is not profiled."""
    if not section:
        return None
    end = section.get("end_after_batch")
    return ProfilingRange(
        begin_on_batch=int(str(section.get("begin_on_batch", 0))),
        end_after_batch=None if end is None else int(str(end)),
        sync_timings=section.get("sync_timings") is True,
    )


@dataclass(frozen=True, slots=True)
class Timing:
    """Totals of a rank since its start, at its last reported step. A record of zeros means that no step was reported.

    Attributes:
        at_ns: Time (CLOCK_MONOTONIC, shared by all processes of a machine).
        step: The step, as the script numbers it.
        samples: Training samples loaded.
        data_ns: Time in which the training thread waited for data.
        communication_ns: Time in which it waited for other ranks.
        busy_ns: Time in checkpoints and `trial.busy()`.
        pid: Process id; totals restart with a new process.
    """

    at_ns: int
    step: int
    samples: int
    data_ns: int
    communication_ns: int
    busy_ns: int
    pid: int

    def pack(self) -> bytes:
        """Encode the record."""
        return _RECORD.pack(
            self.at_ns,
            self.step,
            self.samples,
            self.data_ns,
            self.communication_ns,
            self.busy_ns,
            self.pid,
        )


def read_timings(content: bytes) -> list[Timing]:
    """Decode all complete records, by local rank."""
    whole = content[: len(content) // TIMING_BYTES * TIMING_BYTES]
    return [Timing(*values) for values in _RECORD.iter_unpack(whole)]
