"""Samplers propose points: `port` defines the interface, `factory` creates the configured one."""

from services.searcher.core.samplers.factory import check_space, learns, make_sampler
from services.searcher.core.samplers.port import Observation, RungResult, Sampler, Suggestion

__all__ = ["Observation", "Sampler", "RungResult", "Suggestion", "check_space", "learns", "make_sampler"]
