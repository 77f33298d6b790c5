"""Collective operations of a gang by Horovod. Imported only when needed."""

import os
import socket
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from muster._trial.gradient_options import GradientOptions, gather_passes
from muster.errors import Rejected


class HorovodCollectives:
    """Horovod, initialised here unless the script has done so; `leave` closes only connections that were opened here."""

    def __init__(self) -> None:
        try:
            import horovod.torch as hvd
        except ImportError as error:
            raise Rejected(
                "horovod_missing",
                f"several ranks need Horovod, which cannot be imported: {error}",
                hint="install horovod, set `distributed: torch`, or use one slot per trial",
            ) from error
        before = _open_sockets()
        if not hvd.is_initialized():
            hvd.init()
        self._hvd = hvd
        self._sockets = _open_sockets() - before
        self.rank, self.size = int(hvd.rank()), int(hvd.size())
        self.local_rank, self.local_size = int(hvd.local_rank()), int(hvd.local_size())

    def leave(self) -> None:
        """As in `Exchange`. Horovod keeps its connections after shutdown; without closing them, ranks that wait for this one would wait half a minute."""
        self._hvd.shutdown()
        for descriptor, _ in self._sockets & _open_sockets():
            with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
                connection.shutdown(socket.SHUT_RDWR)

    def broadcast(self, tensor: Any, root: int, name: str) -> Any:
        """As in `Exchange`."""
        return self._hvd.broadcast(tensor, root_rank=root, name=name)

    def total(self, tensor: Any, name: str) -> Any:
        """As in `Exchange`."""
        check_reach([tensor])
        return self._hvd.allreduce(tensor, op=self._hvd.Sum, name=name)

    def gather(self, value: object, name: str) -> list[object]:
        """As in `Exchange`."""
        return list(self._hvd.allgather_object(value, name=name))

    def distribute(self, model: Any, optimizer: Any, told: GradientOptions) -> tuple[Any, Any]:
        """As in `Exchange`. Horovod's environment sets the bucket size."""
        hvd = self._hvd
        check_reach(model.parameters())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        wrapped = hvd.DistributedOptimizer(
            optimizer,
            named_parameters=model.named_parameters(),
            compression=hvd.Compression.fp16 if told.compresses else hvd.Compression.none,
            backward_passes_per_step=told.passes,
        )
        wrapped.state = (
            optimizer.state
        )  # Horovod starts with an empty state, which would lose the state loaded from a checkpoint
        gather_passes(wrapped, told, lambda is_last: None)
        return model, wrapped


def check_reach(tensors: Iterable[Any]) -> None:
    """Refuse tensors that this build of Horovod cannot exchange.

    Raises:
        Rejected: A tensor is on a GPU, and Horovod was built without GPU support (`horovod_without_gpus`).
    """
    import horovod.torch as hvd

    devices = {str(one.device) for one in tensors if one.device.type != "cpu"}
    if devices and not (hvd.cuda_built() or hvd.rocm_built()):
        raise Rejected(
            "horovod_without_gpus",
            f"the model is on {', '.join(sorted(devices))}, and Horovod was built without NCCL: it exchanges only tensors in "
            "main memory",
            hint="set `distributed: torch`, or install nvcc on the workers and run `python -m deploy.horovod` there",
        )


def _open_sockets() -> set[tuple[int, int]]:
    """Sockets of this process by descriptor and inode, because descriptors are reused."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            status = entry.stat()
            if stat.S_ISSOCK(status.st_mode):
                found.add((int(entry.name), status.st_ino))
    return found
