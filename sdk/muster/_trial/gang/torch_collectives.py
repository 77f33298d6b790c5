"""Collective operations of a gang by `torch.distributed`. Imported only when needed."""

import atexit
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from muster._trial.gradient_options import GradientOptions, gather_passes
from muster._trial.process_environment import Launched

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel


class TorchCollectives:
    """The default process group, initialised once: Gloo for tensors in main memory, NCCL for tensors on GPUs."""

    def __init__(self, launched: Launched) -> None:
        self._group: dist.ProcessGroup | None = None
        if torch.cuda.is_available() and launched.local_rank < torch.cuda.device_count():
            torch.cuda.set_device(launched.local_rank)
        if dist.is_initialized():
            # The script's own group may support GPUs only.
            self._group = dist.new_group(backend="gloo")
        else:
            dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
            # Its threads can abort at interpreter exit (exit code 134 after a successful script).
            atexit.register(_leave_default)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.local_rank, self.local_size = launched.local_rank, launched.local_size

    def broadcast(self, tensor: torch.Tensor, root: int, name: str) -> torch.Tensor:
        """As in `Exchange`; in place."""
        dist.broadcast(tensor, root, group=self._group)
        return tensor

    def total(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """As in `Exchange`; in place."""
        dist.all_reduce(tensor, group=self._group)
        return tensor

    def gather(self, value: object, name: str) -> list[object]:
        """As in `Exchange`."""
        found: list[object] = [None] * self.size
        dist.all_gather_object(found, value, group=self._group)
        return found

    def leave(self) -> None:
        """As in `Exchange`."""
        dist.destroy_process_group(self._group)

    def distribute(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, told: GradientOptions
    ) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        """As in `Exchange`, by DistributedDataParallel."""
        parallel = made_parallel(model, told)
        gather_passes(
            optimizer, told, lambda is_last: setattr(parallel, "require_backward_grad_sync", is_last)
        )
        return parallel, optimizer


def _leave_default() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def made_parallel(model: torch.nn.Module, told: GradientOptions) -> "DistributedDataParallel":
    """Return the model wrapped for all ranks of the default process group."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    from torch.nn.parallel import DistributedDataParallel

    more: dict[str, Any] = {} if told.bucket_mib is None else {"bucket_cap_mb": max(1, told.bucket_mib)}
    parallel = DistributedDataParallel(model, **more)
    if told.compresses:
        parallel.register_comm_hook(None, fp16_compress_hook)
    return parallel
