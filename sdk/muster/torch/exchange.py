"""Tensors of PyTorch between the ranks of a trial, for frameworks that do not let a gradient be exchanged while others are made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from muster import Trial


def average(trial: "Trial", gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Return the ranks' means, exchanged as one tensor. Which are None is alike on all ranks; types are alike too."""
    gang = trial._gang
    present = [one for one in gradients if one is not None]
    if gang is None or not present:
        return list(gradients)
    mean = gang.average("gradients", torch.cat([one.reshape(-1) for one in present]))
    means = iter(torch.split(mean, [one.numel() for one in present]))
    return [None if one is None else next(means).view_as(one) for one in gradients]


def share(trial: "Trial", tensors: Sequence[torch.Tensor]) -> None:
    """Give the tensors rank 0's values, in place."""
    if trial._gang is not None:
        for number, one in enumerate(tensors):
            one.data.copy_(trial._gang.first(f"share.{number}", one.detach().clone()))
