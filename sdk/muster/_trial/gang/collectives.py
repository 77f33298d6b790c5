"""What a gang's ranks can exchange: the port that each way of training together implements. Imported only when there is more than one rank."""

from typing import Protocol

import torch

from muster._trial.gradient_options import GradientOptions


class Collectives(Protocol):
    """Ranks that have found each other. Every method is collective: all ranks call it, in the same order and with the same `name`."""

    @property
    def rank(self) -> int:
        """This process's number, from 0."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    @property
    def local_rank(self) -> int:
        """This process's number on its machine."""

    @property
    def local_size(self) -> int:
        """Number of ranks on this machine."""

    def broadcast(self, tensor: torch.Tensor, root: int, name: str) -> torch.Tensor:
        """`root`'s tensor, on every rank. Shapes and types are alike on all; it lies in the machine's own memory."""

    def total(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """The sum of the ranks' tensors. It lies in the machine's own memory."""

    def gather(self, value: object, name: str) -> list[object]:
        """Every rank's value, by rank. A value can be pickled."""

    def leave(self) -> None:
        """Break what is under way, and hear of nobody any more. Not collective: who waits for this rank meets an error at once."""

    def distribute(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, told: GradientOptions
    ) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        """Return what trains on all ranks as one: rank 0's parameters on each, gradients exchanged while they are made."""
