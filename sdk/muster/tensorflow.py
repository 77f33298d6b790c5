"""TensorFlow support for several ranks: gradients are exchanged by the gang, in eager code and in graphs.

Horovod's TensorFlow support is not used: docs/decisions/0075.
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
    """Return the ranks' means of gradients from `tape.gradient`; gradients of one type are exchanged as one tensor.

    The same gradients must be None on all ranks. Sparse embedding gradients become dense.
    """
    gang, timings = trial._gang, trial._heartbeat.timings
    found: list[Any] = [None if one is None else tf.convert_to_tensor(one) for one in gradients]
    if gang is None:
        return found
    for dtype in sorted({one.dtype for one in found if one is not None}, key=lambda dtype: str(dtype.name)):
        indexes = [index for index, one in enumerate(found) if one is not None and one.dtype == dtype]
        flat = tf.concat([tf.reshape(found[index], [-1]) for index in indexes], 0)

        # In a graph, a thread of TensorFlow runs this while the training thread waits for it.
        def exchange(values: Any, name: str = f"gradients.{dtype.name}") -> Any:
            with timings.on_behalf_of_training_thread() if timings else nullcontext():
                return gang.average(name, torch.tensor(values)).numpy()

        mean = tf.numpy_function(exchange, [flat], dtype)
        chunks = tf.split(mean, [tf.size(found[index]) for index in indexes], num=len(indexes))
        for index, chunk in zip(indexes, chunks, strict=True):
            found[index] = tf.reshape(chunk, found[index].shape)
    return found


def share(trial: "Trial", variables: Sequence[Any]) -> None:
    """Set the variables to rank 0's values, in place."""
    if trial._gang is not None:
        for number, one in enumerate(variables):
            one.assign(trial._gang.first(f"share.{number}", torch.tensor(one.numpy())).numpy())
