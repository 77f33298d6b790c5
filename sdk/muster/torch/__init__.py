"""PyTorch support: a training loop, and resumable state for your own loop. Importing this module imports torch."""

from muster._missing_framework import missing

try:
    import torch as _  # noqa: F401 - required by the imports below
except ImportError as error:
    raise missing("torch", error) from error

from muster.torch.loading import ResumableLoader
from muster.torch.state import TrainingState
from muster.torch.trainer import Trainer
from muster.torch.training_units import Period, batches, epochs

__all__ = ["Period", "ResumableLoader", "Trainer", "TrainingState", "batches", "epochs"]
