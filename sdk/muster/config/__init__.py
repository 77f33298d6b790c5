"""The experiment config: one schema for SDK, CLI and every service; start at `load_config`."""

from muster.config.experiment import ExperimentConfig
from muster.config.load import Source, load_config
from muster.config.searchers import (
    AdaptiveAsha,
    AsyncHalving,
    Grid,
    Random,
    Searcher,
    Single,
)
from muster.config.space import (
    Categorical,
    Const,
    Double,
    Hyperparameter,
    Int,
    Leaf,
    Log,
    Parameter,
    Space,
    leaves,
    searched,
)

__all__ = [
    "AdaptiveAsha",
    "AsyncHalving",
    "Categorical",
    "Const",
    "Double",
    "ExperimentConfig",
    "Grid",
    "Hyperparameter",
    "Int",
    "Leaf",
    "Log",
    "Parameter",
    "Random",
    "Searcher",
    "Single",
    "Source",
    "Space",
    "leaves",
    "load_config",
    "searched",
]
