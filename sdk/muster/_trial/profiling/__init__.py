"""Starts the step timings of a profiled rank. `step_timings` accumulates them, `instrumentation` instruments loaders and collectives."""

from collections.abc import Mapping

from muster._trial.profiling.step_timings import Timings
from muster.wire.frames import Json
from muster.wire.timing import read_profiled


def start_timings(folder: str, local_rank: int, section: Mapping[str, Json]) -> Timings | None:
    """Start timings if the `profiling` section enables them and the worker tracks this process; else return None."""
    profiled = read_profiled(section)
    if profiled is None or not folder:
        return None
    # Imported only for profiled ranks, to keep others free of it.
    from muster._trial.profiling.instrumentation import watch_waits

    return Timings(folder, local_rank, profiled, watch_waits)
