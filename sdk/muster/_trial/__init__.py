"""The API of a training script: one `Trial` per process; the same calls work with and without a platform."""

import atexit
import os
from collections.abc import Mapping

from muster import wire
from muster._buffered_output import tolerate_full_disk
from muster._trial import gpu_memory_share, standalone
from muster._trial.api import Trial
from muster._trial.gang.rendezvous import join_gang
from muster._trial.process_environment import ProcessEnvironment, load_process_environment
from muster._trial.profiling import start_timings
from muster._trial.worker_link.heartbeat import HeartbeatWriter
from muster._trial.worker_link.report_channel import Channel
from muster.wire import Json

__all__ = ["Trial", "trial"]

_current: "Trial | None" = None


def trial(defaults: Mapping[str, Json] | None = None) -> "Trial":
    """Return this process's trial. The first call connects to the worker and, with several ranks, starts Horovod or torch.distributed.

    Without a platform, hyperparameters come from `defaults`, `MUSTER_HPARAMS` and `--hparams '{"lr": 0.1}'` (later sources
    win), metrics are printed, and checkpoints go to ./checkpoints.

    Args:
        defaults: Hyperparameters that the experiment may omit.

    Raises:
        Rejected: The worker refuses this process, or Horovod is required and not installed.
    """
    global _current
    if _current is None or _current._pid != os.getpid():
        _current = _start(load_process_environment(), defaults or {})
    return _current


def _start(environment: ProcessEnvironment, defaults: Mapping[str, Json]) -> Trial:
    if not environment.trial_path:
        return _start_alone(environment, defaults)
    tolerate_full_disk()
    gpu_memory_share.limit_gpu_memory(environment.slot_fraction)
    description = wire.read_trial_file(environment.trial_path)
    for name, value in defaults.items():
        description.hparams.setdefault(name, value)
    # With the user's own launcher, only the first process on each machine reports to the worker.
    folder = description.watch if environment.is_started_by_worker else ""
    timings = start_timings(folder, environment.local_rank, description.profiling)
    heartbeat = HeartbeatWriter(folder, environment.local_rank, timings)
    started_size = 1 if environment.size_to_join else description.size
    gang = join_gang(description.distributed, started_size, environment)
    channel = None
    if (gang.rank if gang else environment.rank) == 0:
        channel = Channel(description, environment.trial_path, environment.token)
        channel.start()
    started = Trial(description, environment, channel, gang, heartbeat)
    atexit.register(heartbeat.end)  # runs after the next one: atexit calls in reverse order
    atexit.register(started.close)
    return started


def _start_alone(environment: ProcessEnvironment, defaults: Mapping[str, Json]) -> Trial:
    gang = join_gang("horovod" if environment.size > 1 else "none", environment.size, environment)
    description = standalone.describe(environment.size, defaults, environment.variables)
    return Trial(description, environment, None, gang, HeartbeatWriter(description.watch, 0))
