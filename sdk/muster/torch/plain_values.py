"""Values allowed in a checkpoint: those that `torch.load(weights_only=True)` reads without unpickling."""

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
    """Refuse values on save that could not be loaded, because an error on load would lose the training.

    Raises:
        Rejected: With the location, such as `scheduler.best`, and the type of the value (`state_not_plain`).
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
            f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which a checkpoint cannot hold: checkpoints are "
            "loaded without unpickling",
            hint="return tensors, numbers and strings in dicts, lists and tuples from state_dict()",
            place=place,
        )
