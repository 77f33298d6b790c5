"""State of a training: copies in memory and broadcasts from rank 0, as nested dicts, lists and tuples with tensors."""

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from muster._trial.gang.gang import RankGang


@dataclass(frozen=True, slots=True)
class _Tensor:
    """Placeholder of a tensor, while the rest of the state is sent."""

    number: int
    shape: tuple[int, ...]
    dtype: "torch.dtype"


def copied(state: Any) -> Any:
    """Return a copy with cloned tensors."""
    return _mapped(state, lambda tensor: tensor.detach().clone())


def from_first(gang: "RankGang", state: Any) -> Any:
    """Return rank 0's state on every rank. Collective; tensors are sent one by one through main memory."""
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
