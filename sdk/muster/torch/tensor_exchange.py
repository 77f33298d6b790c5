"""PyTorch tensors between the ranks of a trial, for frameworks that cannot exchange gradients during the backward pass."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from muster import Trial


def average(trial: "Trial", gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Return the ranks' mean of each gradient, exchanged as one tensor. The same gradients must be None on all ranks, with equal types."""
    gang = trial._gang
    present = [one for one in gradients if one is not None]
    if gang is None or not present:
        return list(gradients)
    mean = gang.average("gradients", torch.cat([one.reshape(-1) for one in present]))
    means = iter(torch.split(mean, [one.numel() for one in present]))
    return [None if one is None else next(means).view_as(one) for one in gradients]


def share(trial: "Trial", tensors: Sequence[torch.Tensor]) -> None:
    """Set the tensors to rank 0's values, in place."""
    if trial._gang is not None:
        for number, one in enumerate(tensors):
            one.data.copy_(trial._gang.first(f"share.{number}", one.detach().clone()))
