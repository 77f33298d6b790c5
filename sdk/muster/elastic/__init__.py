"""For scripts that run on more or fewer slots from one run to the next: how much a larger batch teaches, and which one to take."""

from muster.elastic.batches import Limits, choose_per_rank
from muster.elastic.noise import NoiseScale
from muster.elastic.training import Elastic

__all__ = ["Elastic", "Limits", "NoiseScale", "choose_per_rank"]
