"""Instrumentation of waits of the training thread: PyTorch loaders, Horovod and torch.distributed, as the script imports them.

Each library has one function that all calls pass through, so scripts need no change. Patches stay for the life of the
process, which runs one trial.
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
"""DistributedDataParallel overlaps communication itself: one in this many backward passes is timed."""
_patched: set[str] = set()


def watch_waits(timings: Timings) -> None:
    """Instrument the modules imported since the last call; costs a few dictionary lookups."""
    for name, patch in _PATCHES.items():
        if name not in _patched and (module := sys.modules.get(name)) is not None:
            _patched.add(name)
            patch(module, timings)


def count_samples(batch: object) -> int:
    """Return the length of the first tensor or array in a batch as its number of samples; 0 if there is none."""
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


def _patch_loaders(module: Any, timings: Timings) -> None:
    grown, following = module.DataLoader, module._BaseDataLoaderIter
    load = timings.timed(Activity.DATA, following.__next__)

    def load_next(iterator: Any) -> Any:
        batch = load(iterator)
        # Batches loaded without gradients are for validation.
        if sys.modules["torch"].is_grad_enabled():
            timings.count(count_samples(batch))
        return batch

    following.__next__ = load_next
    grown.__iter__ = timings.timed(Activity.DATA, grown.__iter__)


def _patch_horovod(module: Any, timings: Timings) -> None:
    library = module.mpi_lib
    library.horovod_torch_wait_and_clear = timings.timed(
        Activity.COMMUNICATION, library.horovod_torch_wait_and_clear
    )


def _patch_collectives(module: ModuleType, timings: Timings) -> None:
    for name in COLLECTIVES:
        if function := getattr(module, name, None):
            setattr(module, name, timings.timed(Activity.COMMUNICATION, function))


def _patch_ddp(module: Any, timings: Timings) -> None:
    parallel = module.DistributedDataParallel
    forward = parallel.forward
    seen: dict[int, tuple[int, int]] = {}

    def counted_forward(model: Any, *given: Any, **named: Any) -> Any:
        calls, sampled = seen.get(id(model), (0, 0))
        if not calls:
            model._set_ddp_runtime_logging_sample_rate(SAMPLED_STEPS)
        elif calls % SAMPLED_STEPS == 0:
            logged = model._get_ddp_logging_data()
            if (newest := logged.get("iteration", 0)) > sampled:
                waited_ns = logged["backward_comm_time"] - logged["backward_compute_comm_overlap_time"]
                timings.add(Activity.COMMUNICATION, max(0, waited_ns) * (newest - sampled))
                sampled = newest
        seen[id(model)] = calls + 1, sampled
        return forward(model, *given, **named)

    parallel.forward = counted_forward


_PATCHES = {
    "torch.utils.data.dataloader": _patch_loaders,
    "horovod.torch.mpi_ops": _patch_horovod,
    "torch.distributed": _patch_collectives,
    "torch.nn.parallel.distributed": _patch_ddp,
}
