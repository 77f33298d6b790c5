"""What Optuna's Gaussian process was asked before is not worked out again: both sides one after the other need one answer.

Fits, and searches for the best next point, take nearly all the time of `gp`. Both are functions of what they are given, so an answer is kept under
all of it, byte by byte and the generator's state included; who asks anything else is answered by Optuna. Within such a search many ways lead
to the same points: how good they are is asked once too.
"""

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from optuna._gp.acqf import BaseAcquisitionFunc
from optuna._gp.search_space import SearchSpace
from optuna.samplers._gp import sampler

_OPTUNA: Any = sampler
"""Where its sampler looks for what it calls."""


@contextmanager
def memoized() -> Iterator[tuple["Memoized", "Memoized"]]:
    """As long as this lasts, Optuna works out once what it is asked; gives its fit and its search."""
    best = _OPTUNA.optim_mixed.optimize_acqf_mixed

    def search_once(acqf: BaseAcquisitionFunc, **named: Any) -> Any:
        return best(_Seen(acqf), **named)

    fit, search = Memoized(_OPTUNA.gp.fit_kernel_params), Memoized(search_once)
    with (
        patch.object(_OPTUNA.gp, "fit_kernel_params", fit),
        patch.object(_OPTUNA.optim_mixed, "optimize_acqf_mixed", search),
    ):
        yield fit, search


class Memoized:
    """A function that is called once with equal arguments; a generator among them is left as that call left it.

    Attributes:
        calls: So many times it was called.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._answers: dict[bytes, tuple[Any, Any]] = {}
        self.calls = 0

    def __call__(self, *given: Any, rng: np.random.RandomState | None = None, **named: Any) -> Any:
        generator = {} if rng is None else {"rng": rng}
        key = _digest((given, named, generator))
        if key not in self._answers:
            self.calls += 1
            answer = self._function(*given, **named, **generator)
            self._answers[key] = answer, rng and rng.get_state()
        answer, left = self._answers[key]
        if rng is not None:
            rng.set_state(left)
        return copy.deepcopy(answer)


class _Seen(BaseAcquisitionFunc):
    """How good points are, where the same ones are asked for again."""

    def __init__(self, whole: BaseAcquisitionFunc) -> None:
        super().__init__(whole.length_scales, whole.search_space)
        self._whole = whole
        self._values: dict[tuple[tuple[int, ...], bytes], NDArray[np.float64]] = {}

    def eval_acqf(self, x: torch.Tensor) -> torch.Tensor:
        return self._whole.eval_acqf(x)

    def eval_acqf_no_grad(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        key = x.shape, x.tobytes()
        if key not in self._values:
            self._values[key] = self._whole.eval_acqf_no_grad(x)
        return self._values[key]


class _Written(pickle.Pickler):
    """Writes a tensor by its numbers, and a space without what its parameters are called, by which no answer goes."""

    def reducer_override(self, written: Any) -> Any:
        if isinstance(written, torch.Tensor):
            return torch.Tensor, (written.detach().numpy(),)
        if isinstance(written, SearchSpace):
            numbers = {name: value for name, value in vars(written).items() if name != "_optuna_search_space"}
            return SearchSpace, (numbers,)
        return NotImplemented


def _digest(asked: object) -> bytes:
    written = io.BytesIO()
    _Written(written, pickle.HIGHEST_PROTOCOL).dump(asked)
    return sha256(written.getbuffer()).digest()
