"""Samplers propose points: `interface` defines the interface, `factory` creates the configured one."""

from services.searcher.core.samplers.factory import check_space, learns, make_sampler
from services.searcher.core.samplers.interface import Observation, RungResult, Sampler, Suggestion

__all__ = ["Observation", "Sampler", "RungResult", "Suggestion", "check_space", "learns", "make_sampler"]
