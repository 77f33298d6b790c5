"""For training with PyTorch: a state that resumes where it stood. Importing it imports torch."""

from muster.torch.loading import ResumableLoader
from muster.torch.state import TrainingState

__all__ = ["ResumableLoader", "TrainingState"]
