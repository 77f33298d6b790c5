"""Create the search method that a config names."""

import math

from muster.config import (
    AdaptiveAsha,
    AsyncHalving,
    Custom as CustomConfig,
    ExperimentConfig,
    Grid,
    Hyperband as HyperbandConfig,
    MedianStopping as MedianConfig,
    Pbt as PbtConfig,
    Single,
)
from services.searcher.core.methods.asha import StoppingBracket, Tournament
from services.searcher.core.methods.custom import Custom
from services.searcher.core.methods.halving import (
    initial_trials,
    plan_brackets,
    rung_targets,
    split_concurrency,
)
from services.searcher.core.methods.hyperband import Hyperband
from services.searcher.core.methods.independent import Independent
from services.searcher.core.methods.interface import RULES_VERSION, SearchMethod
from services.searcher.core.methods.median import MedianStopping
from services.searcher.core.methods.pbt import Pbt
from services.searcher.core.methods.promotion import PromotionBracket
from services.searcher.core.samplers import Sampler
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.random_and_grid import GridSampler


def make_method(
    config: ExperimentConfig, sampler: Sampler, seed: int, rules: int = RULES_VERSION
) -> SearchMethod:
    """Return a new search method as the config names it."""
    searcher = config.searcher
    if isinstance(searcher, Single):
        return Independent(total=1, concurrency=1, is_fixed=True)
    concurrent = searcher.max_concurrent_trials
    if isinstance(searcher, AsyncHalving):
        targets = rung_targets(searcher.max_time, searcher.divisor, searcher.num_rungs)
        initial = initial_trials(searcher.max_trials, concurrent, searcher.divisor, searcher.num_rungs)
        return _bracket(searcher, targets, searcher.max_trials, initial, rules)
    if isinstance(searcher, AdaptiveAsha):
        return _tournament(searcher, rules)
    if isinstance(searcher, MedianConfig):
        return MedianStopping(searcher)
    if isinstance(searcher, HyperbandConfig):
        return Hyperband(searcher)
    if isinstance(searcher, PbtConfig):
        return Pbt(searcher, Domain.of(config), seed)
    if isinstance(searcher, CustomConfig):
        return Custom(searcher.undecided)
    if isinstance(searcher, Grid):
        assert isinstance(sampler, GridSampler)
        return Independent(sampler.total, concurrent, is_fixed=True)
    return Independent(searcher.max_trials, concurrent)


def _tournament(searcher: AdaptiveAsha, rules: int) -> Tournament:
    are_apart = rules < 1
    sizes, concurrent = plan_brackets(searcher), searcher.max_concurrent_trials
    concurrency: tuple[int, ...] = tuple(size.initial for size in sizes)
    if concurrent and not are_apart:
        concurrency = split_concurrency(concurrent, [size.max_trials for size in sizes])
    brackets = []
    for size, initial in zip(sizes, concurrency, strict=True):
        targets = rung_targets(searcher.max_time, searcher.divisor, size.rungs)
        brackets.append(_bracket(searcher, targets, size.max_trials, initial, rules))
    return Tournament(brackets, are_apart)


def _bracket(
    searcher: AsyncHalving | AdaptiveAsha,
    targets: tuple[int, ...],
    max_trials: int,
    concurrency: int,
    rules: int,
) -> StoppingBracket | PromotionBracket:
    if searcher.stop_once:
        return StoppingBracket(targets, max_trials, concurrency, searcher.divisor)
    return PromotionBracket(targets, max_trials, concurrency, searcher.divisor, are_ties_alike=rules < 4)


def max_concurrency(config: ExperimentConfig) -> float:
    """Return how many trials may be open at once."""
    searcher = config.searcher
    return 1 if isinstance(searcher, Single) else searcher.max_concurrent_trials or math.inf
