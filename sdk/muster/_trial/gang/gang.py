"""Collective operations of a run's ranks on top of `Collectives`. Imported only when there is more than one rank."""

import time
from pathlib import Path

import torch

from muster._trial.checkpointing.file_placement import assign_files
from muster._trial.gang.collectives import Collectives
from muster._trial.gang.stop_cadence import StopPollCadence
from muster._trial.gradient_options import GradientOptions


class RankGang:
    """The ranks of one run. Methods are collective unless stated otherwise: all ranks call them in the same order."""

    def __init__(self, collectives: Collectives) -> None:
        self.rank, self.size, self.local_rank = collectives.rank, collectives.size, collectives.local_rank
        self._collectives = collectives
        self._cadence = StopPollCadence()
        self._calls_left = 0

    def asks_now(self) -> bool:
        """Count a call of `should_stop`; True if this call must synchronize. No communication."""
        self._cadence.on_call()
        self._calls_left -= 1
        return self._calls_left <= 0

    def agree(self, answer: int, decide_at: float | None) -> int:
        """Return rank 0's answer on every rank, and set when all ranks synchronize again."""
        calls = self._cadence.plan_calls(time.monotonic(), decide_at) if self.rank == 0 else 0
        agreed, self._calls_left = self._from_first("muster.should_stop", answer, calls)
        return agreed

    def on_validation(self, at: float) -> None:
        """Record a validation of rank 0. No communication."""
        self._cadence.on_validation(at)

    def number(self, name: str, value: int) -> int:
        """Return rank 0's number on every rank."""
        return self._from_first(f"muster.{name}", value, 0)[0]

    def mean(self, name: str, value: float) -> float:
        """Return the ranks' mean of a number."""
        mine = torch.tensor([value], dtype=torch.float64)
        return float(self._collectives.total(mine, f"muster.{name}").item()) / self.size

    def average(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return the ranks' mean of a tensor, which may be modified."""
        return self._collectives.total(tensor, f"muster.{name}") / self.size

    def first(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return rank 0's tensor on every rank; the given tensor may be modified and must be in main memory."""
        return self._collectives.broadcast(tensor, 0, f"muster.{name}") if tensor.numel() else tensor

    def share_out_files(self, folder: Path, is_written: bool, worker: str) -> tuple[str, ...] | None:
        """As `gathering.share_out_files`."""
        return assign_files(self._collectives, folder, is_written, worker)

    def distribute(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, options: GradientOptions
    ) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        """Return model and optimizer for training on all ranks; see `Trial.distribute`."""
        return self._collectives.distribute(model, optimizer, options)

    def leave(self) -> None:
        """Disconnect after another rank was lost, so that ranks waiting for this one get an error. Not collective."""
        self._collectives.leave()

    def bytes_from_first(self, name: str, content: bytes) -> bytes:
        """Return rank 0's bytes on every rank."""
        size = self.number(f"{name}.size", len(content))
        mine = content if self.rank == 0 else bytes(size)
        tensor = torch.frombuffer(bytearray(mine), dtype=torch.uint8)
        return self._collectives.broadcast(tensor, 0, f"muster.{name}").numpy().tobytes()

    def _from_first(self, name: str, first: int, second: int) -> tuple[int, int]:
        # One unencoded tensor with a fixed name: Horovod's response cache needs a single round.
        tensor = torch.tensor([first, second], dtype=torch.int64)
        result = self._collectives.broadcast(tensor, 0, name).tolist()
        return int(result[0]), int(result[1])
