"""Elastic training on a changing number of slots: a resizable loop, the gradient noise scale, and the choice of the batch size."""

from muster.elastic.batch_size import BatchLimits, choose_per_rank
from muster.elastic.batch_tuning import Elastic
from muster.elastic.gradient_noise import NoiseScale
from muster.elastic.training_loop import Step, Training

__all__ = ["Elastic", "BatchLimits", "NoiseScale", "Step", "Training", "choose_per_rank"]
