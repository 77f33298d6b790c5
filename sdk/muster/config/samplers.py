"""`searcher.sampler` of the config: how points are proposed."""

from typing import Literal

from pydantic import Field, model_validator

from muster.config.section import Section, refusal, rule

SamplerName = Literal["random", "quasi_random", "tpe", "gp", "cmaes", "nsga2"]
_STARTING = ("tpe", "gp", "cmaes")
MOST_METRICS_OF_GP = 4


class Sampler(Section):
    """How points are proposed; a bare name is one too. Those after `quasi_random` learn from what trials came to (Optuna 5).

    Attributes:
        name: `random`; `quasi_random` (scrambled Sobol: evener than chance); `tpe` (tree-structured Parzen estimator: a good first
            choice, conditions included); `gp` (Gaussian process: the fewest trials, for up to some hundreds); `cmaes` (numbers
            only, many trials); `nsga2` (genetic, many trials).
        startup_trials: So many random trials come before the model; of `tpe`, `gp` and `cmaes`.
        population_size: Of `nsga2`, and of `cmaes` if set.
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
                f"the sampler '{self.name}' has no startup_trials", "startup_trials",
                hint=f"it is a key of {', '.join(_STARTING)}",
            )  # fmt: skip
        if self.population_size is not None and self.name not in ("nsga2", "cmaes"):
            raise refusal(
                f"the sampler '{self.name}' has no population_size", "population_size",
                hint="it is a key of nsga2 and cmaes",
            )  # fmt: skip

    def check_serves(self, metrics: int, limited: bool) -> None:
        """Raise a refusal where the sampler cannot be told of so many metrics, or of limits."""
        if self.name == "cmaes" and (metrics > 1 or limited):
            what = "several metrics" if metrics > 1 else "limits"
            hint = "tpe, gp and nsga2 learn from all metrics and limits; random and quasi_random need none"
            raise refusal(f"the sampler 'cmaes' cannot be told of {what}", "sampler", hint=hint)
        if self.name == "gp" and metrics > MOST_METRICS_OF_GP:
            raise refusal(
                f"the sampler 'gp' takes {MOST_METRICS_OF_GP} metrics at most: of more, a proposal takes many seconds",
                "sampler",
                hint="tpe and nsga2 take as many as there are",
            )


RANDOM = Sampler()
