"""For training with PyTorch: a training loop, and the state that a loop of one's own resumes from. Importing it imports torch."""

from muster._missing_framework import missing

try:
    import torch as _  # noqa: F401 - what follows needs it
except ImportError as error:
    raise missing("torch", error) from error

from muster.torch.loading import ResumableLoader
from muster.torch.periods import Period, batches, epochs
from muster.torch.state import TrainingState
from muster.torch.trainer import Trainer

__all__ = ["Period", "ResumableLoader", "Trainer", "TrainingState", "batches", "epochs"]
