"""For trainings on a number of slots that changes: a loop that goes on through it, how much a larger batch teaches, and which one to take."""

from muster.elastic.batch_size import BatchLimits, choose_per_rank
from muster.elastic.batch_tuning import Elastic
from muster.elastic.gradient_noise import NoiseScale
from muster.elastic.training_loop import Step, Training

__all__ = ["Elastic", "BatchLimits", "NoiseScale", "Step", "Training", "choose_per_rank"]
