"""How points are proposed: `port` says what a sampler is, `factory` picks the one that a config names."""

from services.searcher.core.samplers.factory import check_space, learns, make_sampler
from services.searcher.core.samplers.port import Observation, RungResult, Sampler, Suggestion

__all__ = ["Observation", "Sampler", "RungResult", "Suggestion", "check_space", "learns", "make_sampler"]
