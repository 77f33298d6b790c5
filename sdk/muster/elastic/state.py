"""The state of a training: copied in memory, and brought from rank 0 to all. Nested dicts, lists and tuples with tensors among the leaves."""

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from muster._trial.gang.gang import RankGang


@dataclass(frozen=True, slots=True)
class _Tensor:
    """Where a tensor stood, while only the rest travels as a whole."""

    number: int
    shape: tuple[int, ...]
    dtype: "torch.dtype"


def copied(state: Any) -> Any:
    """The same, with tensors of its own: what is done to the original does not change it."""
    return _mapped(state, lambda tensor: tensor.detach().clone())


def from_first(gang: "RankGang", state: Any) -> Any:
    """Rank 0's state, on every rank. Collective; tensors come by the machine's own memory, one after the other."""
    if gang.size == 1:
        return state
    tensors: list[torch.Tensor] = []
    frame = _mapped(state, lambda tensor: _taken_out(tensor, tensors)) if gang.rank == 0 else None
    frame = pickle.loads(gang.bytes_from_first("elastic.frame", pickle.dumps(frame)))  # noqa: S301 - from our own gang
    return _put_back(gang, frame, tensors)


def _mapped(state: Any, change: Any) -> Any:
    import torch

    if isinstance(state, torch.Tensor):
        return change(state)
    if isinstance(state, dict):
        return {name: _mapped(part, change) for name, part in state.items()}
    if isinstance(state, list | tuple):
        parts = [_mapped(part, change) for part in state]
        return parts if isinstance(state, list) else tuple(parts)
    return state


def _taken_out(tensor: "torch.Tensor", tensors: "list[torch.Tensor]") -> _Tensor:
    tensors.append(tensor.detach().cpu().contiguous())
    return _Tensor(len(tensors) - 1, tuple(tensor.shape), tensor.dtype)


def _put_back(gang: "RankGang", frame: Any, tensors: "list[torch.Tensor]") -> Any:
    import torch

    if isinstance(frame, _Tensor):
        mine = tensors[frame.number] if gang.rank == 0 else torch.empty(frame.shape, dtype=frame.dtype)
        return gang.first(f"elastic.tensor.{frame.number}", mine)
    if isinstance(frame, dict):
        return {name: _put_back(gang, part, tensors) for name, part in frame.items()}
    if isinstance(frame, list | tuple):
        parts = [_put_back(gang, part, tensors) for part in frame]
        return parts if isinstance(frame, list) else tuple(parts)
    return frame
