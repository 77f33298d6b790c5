"""`searcher.sampler` of the config: how points are proposed."""

from typing import Literal

from pydantic import Field, model_validator

from muster.config.base_section import Section, refusal, rule

SamplerName = Literal["random", "quasi_random", "tpe", "gp", "cmaes", "nsga2"]
_STARTING = ("tpe", "gp", "cmaes")
MOST_METRICS_OF_GP = 4


class Sampler(Section):
    """How points are proposed; may be written as a bare name. All samplers after `quasi_random` learn from results (Optuna 5).

    Attributes:
        name: `random`; `quasi_random` (scrambled Sobol sequence, covers the space more evenly); `tpe` (tree-structured Parzen
            estimator: a good first choice, supports conditions); `gp` (Gaussian process: needs the fewest trials, up to some
            hundreds); `cmaes` (numeric hyperparameters only, many trials); `nsga2` (genetic algorithm, many trials).
        startup_trials: Random trials before the model is used, for `tpe`, `gp` and `cmaes`.
        population_size: Population of `nsga2`, and of `cmaes` if set.
    """

    name: SamplerName = "random"
    startup_trials: int | None = Field(default=None, ge=1, le=10_000)
    population_size: int | None = Field(default=None, ge=2, le=10_000)

    @model_validator(mode="before")
    @classmethod
    def _is_a_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @rule
    def _takes_its_keys(self) -> None:
        if self.startup_trials is not None and self.name not in _STARTING:
            raise refusal(
                f"the sampler '{self.name}' does not support startup_trials", "startup_trials",
                hint=f"startup_trials applies to {', '.join(_STARTING)}",
            )  # fmt: skip
        if self.population_size is not None and self.name not in ("nsga2", "cmaes"):
            raise refusal(
                f"the sampler '{self.name}' does not support population_size", "population_size",
                hint="population_size applies to nsga2 and cmaes",
            )  # fmt: skip

    def check_serves(self, metrics: int, limited: bool) -> None:
        """Raise a refusal if the sampler does not support this number of metrics, or limits."""
        if self.name == "cmaes" and (metrics > 1 or limited):
            what = "several metrics" if metrics > 1 else "limits"
            hint = "tpe, gp and nsga2 use all metrics and limits; random and quasi_random use none"
            raise refusal(f"the sampler 'cmaes' does not support {what}", "sampler", hint=hint)
        if self.name == "gp" and metrics > MOST_METRICS_OF_GP:
            raise refusal(
                f"the sampler 'gp' supports at most {MOST_METRICS_OF_GP} metrics: with more, a proposal takes many seconds",
                "sampler",
                hint="tpe and nsga2 support any number of metrics",
            )


RANDOM = Sampler()
