"""The experiment config: one schema for the SDK, the CLI and all services. Start at `load_config`."""

from muster.config.budget import Budget
from muster.config.conditions import Path, Point, active, holds, parents_first, put
from muster.config.constraints import Constraint
from muster.config.experiment import ExperimentConfig
from muster.config.load import LoadedConfig, Source, check_partial, load_accepted, load_config, read_config
from muster.config.merging import merge_configs
from muster.config.metrics import Metric, MetricLimit
from muster.config.searcher_schema import Searcher
from muster.config.searchers import (
    AdaptiveAsha,
    AsyncHalving,
    Custom,
    Grid,
    Hyperband,
    MedianStopping,
    Pbt,
    Random,
    Single,
    Timed,
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
    stepped,
)

__all__ = [
    "AdaptiveAsha",
    "AsyncHalving",
    "Budget",
    "Categorical",
    "Const",
    "Constraint",
    "Custom",
    "Double",
    "ExperimentConfig",
    "Grid",
    "Hyperband",
    "Hyperparameter",
    "Int",
    "Leaf",
    "MetricLimit",
    "Log",
    "MedianStopping",
    "Metric",
    "Parameter",
    "Path",
    "Pbt",
    "Point",
    "Random",
    "LoadedConfig",
    "Searcher",
    "Single",
    "Source",
    "Space",
    "Timed",
    "active",
    "check_partial",
    "holds",
    "leaves",
    "load_accepted",
    "load_config",
    "merge_configs",
    "parents_first",
    "put",
    "read_config",
    "searched",
    "stepped",
]
