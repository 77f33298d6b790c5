"""The start of a rank's timings, where its run is profiled. Neighbours: `step_timings` counts, `instrumentation` hangs it onto what ranks wait in."""

from collections.abc import Mapping

from muster._trial.profiling.step_timings import Timings
from muster.wire.frames import Json
from muster.wire.timing import read_profiled


def start_timings(folder: str, local_rank: int, section: Mapping[str, Json]) -> Timings | None:
    """Count, where the config's section `profiling` says so and this process is one that the worker counts; else nothing."""
    told = read_profiled(section)
    if told is None or not folder:
        return None
    # It is imported where it is needed alone: other ranks have nothing of it.
    from muster._trial.profiling.instrumentation import watch_waits

    return Timings(folder, local_rank, told, watch_waits)
