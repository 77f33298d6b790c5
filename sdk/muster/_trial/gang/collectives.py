"""Interface of the collective operations of a gang. Imported only when there is more than one rank."""

from typing import Protocol

import torch

from muster._trial.gradient_options import GradientOptions


class Collectives(Protocol):
    """Collective operations of connected ranks. All ranks call each method in the same order and with the same `name`."""

    @property
    def rank(self) -> int:
        """Index of this rank, from 0."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    @property
    def local_rank(self) -> int:
        """Index of this rank on its machine."""

    @property
    def local_size(self) -> int:
        """Number of ranks on this machine."""

    def broadcast(self, tensor: torch.Tensor, root: int, name: str) -> torch.Tensor:
        """Return `root`'s tensor on every rank. Shapes and types must be equal; tensors are in main memory."""

    def total(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """Return the sum of the ranks' tensors, which are in main memory."""

    def gather(self, value: object, name: str) -> list[object]:
        """Return every rank's value, by rank. Values must be picklable."""

    def leave(self) -> None:
        """Abort pending operations and disconnect. Not collective: ranks that wait for this one get an error immediately."""

    def distribute(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, told: GradientOptions
    ) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        """Return model and optimizer for training on all ranks: rank 0's parameters, gradients exchanged during the backward pass."""
