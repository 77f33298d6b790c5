"""A Horovod that was built without NCCL is told of before it meets a GPU's tensors. Those of the device `meta` stand for them."""

import pytest
import torch

from muster._trial.gang.horovod_collectives import check_reach
from muster.errors import Rejected


def test_a_model_where_horovod_cannot_reach_is_refused_with_what_to_do() -> None:
    check_reach(torch.nn.Linear(2, 1).parameters())
    with pytest.raises(Rejected, match="the model is on meta, and Horovod was built without NCCL") as one:
        check_reach(torch.nn.Linear(2, 1, device="meta").parameters())
    assert "distributed: torch" in (one.value.hint or "")
