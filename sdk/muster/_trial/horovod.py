"""The exchange of a gang by Horovod. Imported only when it is needed."""

from typing import Any

from muster.errors import Rejected


class HorovodExchange:
    """Horovod, initialised once."""

    def __init__(self) -> None:
        try:
            import horovod.torch as hvd
        except ImportError as error:
            raise Rejected(
                "horovod_missing",
                f"several ranks need Horovod, which cannot be imported: {error}",
                hint="install horovod, or ask for one slot per trial",
            ) from error
        if not hvd.is_initialized():
            hvd.init()
        self._hvd = hvd
        self.rank, self.size = int(hvd.rank()), int(hvd.size())
        self.local_rank, self.local_size = int(hvd.local_rank()), int(hvd.local_size())

    def broadcast(self, tensor: Any, root: int, name: str) -> Any:
        """As the port says."""
        return self._hvd.broadcast(tensor, root_rank=root, name=name)

    def total(self, tensor: Any, name: str) -> Any:
        """As the port says."""
        return self._hvd.allreduce(tensor, op=self._hvd.Sum, name=name)

    def gather(self, value: object, name: str) -> list[object]:
        """As the port says."""
        return list(self._hvd.allgather_object(value, name=name))
