"""How points are proposed: `port` says what a sampler is, `choose` picks the one that a config names."""

from services.searcher.core.samplers.choose import check_space, learns, make_sampler
from services.searcher.core.samplers.port import Observation, RungResult, Sampler, Suggestion

__all__ = ["Observation", "Sampler", "RungResult", "Suggestion", "check_space", "learns", "make_sampler"]
