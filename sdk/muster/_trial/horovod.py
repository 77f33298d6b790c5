"""What the ranks of a gang do together, by Horovod. Imported only when there is more than one rank."""

import time

from muster._trial.agreement import Cadence
from muster.errors import Rejected


class Gang:
    """Horovod, initialised once. Every method is collective: all ranks call it, in the same order."""

    def __init__(self) -> None:
        try:
            import horovod.torch as hvd
            import torch
        except ImportError as error:
            raise Rejected(
                "horovod_missing",
                f"several ranks need Horovod, which cannot be imported: {error}",
                hint="install horovod, or ask for one slot per trial",
            ) from error
        if not hvd.is_initialized():
            hvd.init()
        self._hvd, self._torch = hvd, torch
        self.rank, self.size, self.local_rank = int(hvd.rank()), int(hvd.size()), int(hvd.local_rank())
        self._cadence = Cadence()
        self._calls_left = 0

    def asks_now(self) -> bool:
        """Count a call of `should_stop`; True when this one is the collective one."""
        self._cadence.on_call()
        self._calls_left -= 1
        return self._calls_left <= 0

    def agree(self, stop: bool, decide_at: float | None) -> bool:
        """Rank 0's answer, on every rank; also fixes when all ask again."""
        calls = self._cadence.plan_calls(time.monotonic(), decide_at) if self.rank == 0 else 0
        answer = self._broadcast("muster.should_stop", int(stop), calls)
        self._calls_left = answer[1]
        return bool(answer[0])

    def on_validation(self, at: float) -> None:
        """Rank 0 reported a validation."""
        self._cadence.on_validation(at)

    def number(self, name: str, value: int) -> int:
        """Rank 0's number, on every rank."""
        return self._broadcast(f"muster.{name}", value, 0)[0]

    def barrier(self, name: str) -> None:
        """Return when all ranks are here."""
        self._hvd.allreduce(self._torch.zeros(1), name=f"muster.{name}")

    def _broadcast(self, name: str, first: int, second: int) -> tuple[int, int]:
        # The values in the clear, in one tensor of a fixed name: Horovod's response cache makes it one round.
        tensor = self._torch.tensor([first, second], dtype=self._torch.int64)
        result = self._hvd.broadcast(tensor, root_rank=0, name=name).tolist()
        return int(result[0]), int(result[1])
