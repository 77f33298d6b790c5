"""Where a training thread waits: PyTorch's loaders, Horovod and torch.distributed, found as the script imports them.

Each has one place that all its users pass, so scripts are profiled as they are. What is hung on stays for the process, which a worker makes
for one trial.
"""

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from muster._trial.profiling.step_timings import Activity, Timings

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "all_gather_object",
    "broadcast",
    "broadcast_object_list",
    "barrier",
)
SAMPLED_STEPS = 10
"""Of DistributedDataParallel, whose exchange is its own matter, one backward pass in so many is timed."""
_hung: set[str] = set()


def watch_waits(timings: Timings) -> None:
    """Hang the timings onto what has been imported since the last call. It costs some dictionary look-ups."""
    for name, hang in _PLACES.items():
        if name not in _hung and (module := sys.modules.get(name)) is not None:
            _hung.add(name)
            hang(module, timings)


def count_samples(batch: object) -> int:
    """The length of the first tensor or array in a batch, the samples that it holds; 0 where there is none."""
    for content in _leaves(batch):
        shape = getattr(content, "shape", None)
        if shape is not None and len(shape):
            return int(shape[0])
    return 0


def _leaves(batch: object) -> Iterator[object]:
    if isinstance(batch, Mapping):
        batch = batch.values()
    elif not isinstance(batch, list | tuple):
        yield batch
        return
    for content in batch:
        yield from _leaves(content)


def _hang_on_loaders(module: Any, timings: Timings) -> None:
    grown, following = module.DataLoader, module._BaseDataLoaderIter
    load = timings.timed(Activity.DATA, following.__next__)

    def load_next(iterator: Any) -> Any:
        batch = load(iterator)
        # What is loaded with gradients off validates, and trains nothing.
        if sys.modules["torch"].is_grad_enabled():
            timings.count(count_samples(batch))
        return batch

    following.__next__ = load_next
    grown.__iter__ = timings.timed(Activity.DATA, grown.__iter__)


def _hang_on_horovod(module: Any, timings: Timings) -> None:
    library = module.mpi_lib
    library.horovod_torch_wait_and_clear = timings.timed(
        Activity.COMMUNICATION, library.horovod_torch_wait_and_clear
    )


def _hang_on_collectives(module: ModuleType, timings: Timings) -> None:
    for name in COLLECTIVES:
        if function := getattr(module, name, None):
            setattr(module, name, timings.timed(Activity.COMMUNICATION, function))


def _hang_on_ddp(module: Any, timings: Timings) -> None:
    parallel = module.DistributedDataParallel
    forward = parallel.forward
    seen: dict[int, tuple[int, int]] = {}

    def counted_forward(model: Any, *given: Any, **named: Any) -> Any:
        calls, sampled = seen.get(id(model), (0, 0))
        if not calls:
            model._set_ddp_runtime_logging_sample_rate(SAMPLED_STEPS)
        elif calls % SAMPLED_STEPS == 0:
            told = model._get_ddp_logging_data()
            if (newest := told.get("iteration", 0)) > sampled:
                waited_ns = told["backward_comm_time"] - told["backward_compute_comm_overlap_time"]
                timings.add(Activity.COMMUNICATION, max(0, waited_ns) * (newest - sampled))
                sampled = newest
        seen[id(model)] = calls + 1, sampled
        return forward(model, *given, **named)

    parallel.forward = counted_forward


_PLACES = {
    "torch.utils.data.dataloader": _hang_on_loaders,
    "horovod.torch.mpi_ops": _hang_on_horovod,
    "torch.distributed": _hang_on_collectives,
    "torch.nn.parallel.distributed": _hang_on_ddp,
}
