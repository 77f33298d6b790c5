"""For trainings on a number of slots that changes: a loop that goes on through it, how much a larger batch teaches, and which one to take."""

from muster.elastic.batches import BatchLimits, choose_per_rank
from muster.elastic.live import Step, Training
from muster.elastic.noise import NoiseScale
from muster.elastic.training import Elastic

__all__ = ["Elastic", "BatchLimits", "NoiseScale", "Step", "Training", "choose_per_rank"]
