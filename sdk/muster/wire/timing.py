"""Where a rank's time goes, as it counts it: a record for each local rank in a file of the run, as in `wire.pulse`; only where a run is profiled."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from muster.wire.frames import Json

_RECORD = struct.Struct("<7Q")
TIMING_BYTES = _RECORD.size
TIMINGS = "timings"


@dataclass(frozen=True, slots=True)
class ProfilingRange:
    """The config's section `profiling`, of a run that is profiled."""

    begin_on_batch: int = 0
    end_after_batch: int | None = None
    sync_timings: bool = False

    def goes_on_after(self, step: int) -> bool:
        """Whether what follows this step, as the script counts, is profiled."""
        return step + 1 >= self.begin_on_batch and not self.is_over_after(step)

    def is_over_after(self, step: int) -> bool:
        """Whether nothing that follows this step is."""
        return self.end_after_batch is not None and step >= self.end_after_batch


def read_profiled(section: Mapping[str, Json]) -> ProfilingRange | None:
    """Read the checked section; None where it is empty: the run is not profiled."""
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
    """What a rank has counted since its start, at the last step that it reported. A record of zeros is of a rank that has reported none.

    Attributes:
        at_ns: When (CLOCK_MONOTONIC, one for all processes of a machine).
        step: The step, as the script counts.
        samples: Samples that it has taken to train with.
        data_ns: Time in which its training thread waited for data.
        communication_ns: In which it waited for other ranks.
        busy_ns: In which it wrote checkpoints, or was `trial.busy()`.
        pid: The process: another one counts anew.
    """

    at_ns: int
    step: int
    samples: int
    data_ns: int
    communication_ns: int
    busy_ns: int
    pid: int

    def pack(self) -> bytes:
        """The record of it."""
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
    """Every whole record, by local rank."""
    whole = content[: len(content) // TIMING_BYTES * TIMING_BYTES]
    return [Timing(*values) for values in _RECORD.iter_unpack(whole)]
