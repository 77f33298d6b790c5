"""What may stand in a checkpoint: what `torch.load(weights_only=True)` gives back, and nothing that has to be unpickled."""

from collections import OrderedDict
from typing import Any

import torch

from muster.errors import Rejected

_LEAVES = (
    torch.Tensor,
    torch.dtype,
    torch.device,
    torch.Size,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
)
_FOLDED = (list, tuple, set)


def check_plain(value: Any, place: str) -> None:
    """Refuse at the save what could not be loaded: found out at the load, the training would be lost.

    Raises:
        Rejected: With the place, such as `scheduler.best`, and the type that stands there (`state_not_plain`).
    """
    if isinstance(value, _LEAVES) and (isinstance(value, torch.Tensor) or type(value) in _LEAVES):
        return
    if type(value) in (dict, OrderedDict):
        for key, inner in value.items():
            check_plain(key, place)
            check_plain(inner, f"{place}.{key}")
    elif type(value) in _FOLDED:
        for index, inner in enumerate(value):
            check_plain(inner, f"{place}[{index}]")
    else:
        raise Rejected(
            "state_not_plain",
            f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which a checkpoint cannot hold: it is read back "
            "without unpickling",
            hint="let state_dict() return tensors, numbers and text, in dicts, lists and tuples",
            place=place,
        )
