"""Create the sampler that a config names."""

from muster.config import ExperimentConfig, Grid, Single
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.interface import Sampler
from services.searcher.core.samplers.random_and_grid import GridPoints, GridSampler, RandomSampler


def check_space(config: ExperimentConfig) -> None:
    """Raise Rejected if the space seems to have no point, with the constraint to relax."""
    domain = Domain.of(config)
    if isinstance(config.searcher, Grid):
        GridPoints(domain)
    else:
        domain.check()


def learns(config: ExperimentConfig) -> bool:
    """Whether results change what this config's sampler proposes."""
    sampler = getattr(config.searcher, "sampler", None)
    return sampler is not None and sampler.name not in ("random", "quasi_random")


def make_sampler(config: ExperimentConfig, seed: int) -> Sampler:
    """Return the configured sampler. The first search that needs Optuna imports it, which takes half a second."""
    domain, searcher = Domain.of(config), config.searcher
    if isinstance(searcher, Grid):
        return GridSampler(GridPoints(domain))
    if isinstance(searcher, Single) or searcher.sampler.name == "random":
        return RandomSampler(domain, seed)
    from services.searcher.core.samplers.optuna_sampler import OptunaSampler

    return OptunaSampler(domain, searcher.sampler, seed, len(searcher.aims))
