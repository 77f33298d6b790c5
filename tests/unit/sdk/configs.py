"""A good config, and how one that is not is refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from muster.config import load_config
from muster.errors import Rejected

GOOD = """\
name: digits
entrypoint: python3 train.py
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
  layers:
    width: {type: int, minval: 8, maxval: 64}
    act: {type: categorical, vals: [relu, tanh]}
  batch: 32
  sizes: [1, 2]
searcher:
  name: adaptive_asha
  metric: acc
  smaller_is_better: false
  max_trials: 16
  time_metric: epochs
  max_time: 9
"""


def refused(text: Any, overrides: Sequence[str] = ()) -> Rejected:
    with pytest.raises(Rejected) as caught:
        load_config(text, overrides)
    return caught.value
