"""TensorFlow inside a trial of several ranks: its gradients go through the gang's own exchange, from eager code and from graphs.

A Horovod built for TensorFlow is not used: docs/decisions/0075.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from muster._missing_framework import missing

try:
    import tensorflow as tf
    import torch
except ImportError as error:
    raise missing("tensorflow", error) from error

if TYPE_CHECKING:
    from muster import Trial


def average(trial: "Trial", gradients: Sequence[Any]) -> list[Any]:
    """Return the ranks' means of gradients, as `tape.gradient` gives them: the means of each type go as one tensor.

    Which of them are None is alike on all ranks. Slices of an embedding's gradient become whole tensors.
    """
    gang, timings = trial._gang, trial._heart.timings
    found: list[Any] = [None if one is None else tf.convert_to_tensor(one) for one in gradients]
    if gang is None:
        return found
    for dtype in sorted({one.dtype for one in found if one is not None}, key=lambda dtype: str(dtype.name)):
        places = [place for place, one in enumerate(found) if one is not None and one.dtype == dtype]
        flat = tf.concat([tf.reshape(found[place], [-1]) for place in places], 0)

        # In a graph a thread of TensorFlow's runs it, and the one that trains waits for that.
        def exchange(values: Any, name: str = f"gradients.{dtype.name}") -> Any:
            with timings.standing_in() if timings else nullcontext():
                return gang.average(name, torch.tensor(values)).numpy()

        mean = tf.numpy_function(exchange, [flat], dtype)
        pieces = tf.split(mean, [tf.size(found[place]) for place in places], num=len(places))
        for place, piece in zip(places, pieces, strict=True):
            found[place] = tf.reshape(piece, found[place].shape)
    return found


def share(trial: "Trial", variables: Sequence[Any]) -> None:
    """Give the variables rank 0's values, in place."""
    if trial._gang is not None:
        for number, one in enumerate(variables):
            one.assign(trial._gang.first(f"share.{number}", torch.tensor(one.numpy())).numpy())
