"""Samplers of Optuna that use a model or a sequence.

Optuna's samplers keep a random generator, and some keep attributes in the study. Here each proposal has its own
sampler, seeded with (experiment's seed, trial), and its attributes are stored with the suggestion. So a search
rebuilt from its journal continues exactly as before without repeating any proposal. Optuna used directly in the same
way proposes the same points.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import optuna
from optuna import samplers
from optuna.trial import Trial, TrialState
from pydantic import JsonValue

from muster.config import Point
from muster.config.samplers import Sampler as Choice
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream
from services.searcher.core.samplers.interface import Observation, RungResult, Suggestion
from services.searcher.core.samplers.optuna_space import OptunaSpace
from services.searcher.core.samplers.rung_studies import RungStudies
from services.searcher.core.samplers.study import Study

RETRIES = 20
"""After this many proposals that violate the constraints, a random point is used."""
_BY_RUNG = ("tpe", "gp")
"""Samplers that model the value of a point, and so can use results at one rung. The others derive new points from ended trials."""
_JUDGED_EARLY = ("tpe", "cmaes")
"""Samplers that support pruned trials. For the others an intermediate value counts as the final one."""
_STARTUP_TRIALS = 10
"""Optuna's default: `tpe` and `gp` build a model from this many trials on."""

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


class OptunaSampler:
    """`quasi_random`, `tpe`, `gp`, `cmaes` and `nsga2`."""

    remembers = True

    def __init__(self, domain: Domain, choice: Choice, seed: int, metrics: int = 1) -> None:
        self._domain, self._choice, self._seed = domain, choice, seed
        if choice.name == "gp":
            # Only this sampler imports torch, and its matrices are small: several threads would take twenty times as
            # long.
            import torch

            torch.set_num_threads(1)
        self._space = OptunaSpace(domain.space)
        self._learned = 0
        self._sources: list[optuna.trial.FrozenTrial] = []
        # A sequence ignores metrics and supports only one.
        self._whole = Study(self._space, self._sampler(0), metrics if self.learns else 1)
        self._rungs = RungStudies(
            lambda: Study(self._space, self._sampler(0)), choice.startup_trials or _STARTUP_TRIALS
        )

    @property
    def learns(self) -> bool:
        return self._choice.name != "quasi_random"

    def learn(self, point: Point, observation: Observation) -> None:
        attributes: dict[str, JsonValue] = {}
        if self._choice.name == "nsga2":
            attributes = {samplers.NSGAIISampler._get_generation_key(): 0}
        number = -self._learned  # Trials of this search count from 1.
        self._learned += 1
        self._whole.add(number, point, attributes=attributes)
        self._observe(number, observation)
        self._rungs.learn(point, observation)
        if self._choice.name == "cmaes" and observation.time is None:
            self._add_source(point, observation)

    def propose(self, trial: int) -> Suggestion:
        study = self._rungs.highest_modelled() or self._whole
        study.use(self._sampler(trial))
        before = study.notes()
        rejected: list[JsonValue] = []
        for _ in range(RETRIES):
            asked, point = study.ask()
            if self._domain.admits(point):
                return self._suggested(trial, study, asked, point, before, rejected)
            study.reject(asked)
            rejected.append(point)
        stream = Stream(self._seed, trial)
        stream.seed()
        suggestion = Suggestion(self._domain.draw(stream), self._memo(study, before, rejected))
        self._begin(trial, suggestion.point)
        return suggestion

    def take(self, trial: int, suggestion: Suggestion) -> None:
        memo: dict[str, Any] = suggestion.memo
        for point in memo.get("rejected", ()):
            self._whole.add(None, point, TrialState.FAIL)
        self._begin(trial, suggestion.point, memo.get("trial"))
        self._whole.note(memo.get("study", {}))

    def reach(self, trial: int, result: RungResult) -> None:
        if self._choice.name in _BY_RUNG:
            value = result.value if self._is_usable(result.value) else None
            self._rungs.reach(trial, result.time, value, result.continues)

    def observe(self, trial: int, observation: Observation) -> None:
        self._observe(trial, observation)
        self._rungs.leave(trial)

    def _begin(
        self,
        trial: int,
        point: Point,
        attributes: Mapping[str, JsonValue] | None = None,
        asked: Study | None = None,
    ) -> None:
        """Add a new trial to every study except the one that proposed it."""
        if asked is not self._whole:
            self._whole.add(trial, point, attributes=attributes)
        self._rungs.begin(trial, point, asked)

    def _observe(self, trial: int, observation: Observation) -> None:
        study, value = self._whole, observation.value
        study.use(self._sampler(trial))
        if value is None or not self._is_usable(value):
            study.drop(trial)
            return
        if observation.excesses:
            study.exceed(trial, observation.excesses)
        if observation.time is not None and self._choice.name in _JUDGED_EARLY:
            study.prune(trial, int(observation.time), value)
        else:
            study.complete(trial, [value, *observation.others])

    def _is_usable(self, value: float) -> bool:
        """Whether the sampler accepts the value: only `tpe` accepts infinity."""
        return math.isfinite(value) or self._choice.name == "tpe"

    def _suggested(
        self,
        trial: int,
        study: Study,
        asked: Trial,
        point: Point,
        before: Mapping[str, Any],
        rejected: list[JsonValue],
    ) -> Suggestion:
        study.bind(trial, asked)
        memo = self._memo(study, before, rejected)
        if study is self._whole and (attributes := study.attributes(trial)):
            memo["trial"] = attributes
        self._begin(trial, point, asked=study)
        return Suggestion(point, memo)

    def _memo(
        self, study: Study, before: Mapping[str, Any], rejected: list[JsonValue]
    ) -> dict[str, JsonValue]:
        """Return what a rebuilt search needs besides the point.

        Samplers that use rungs store no attributes, and points rejected there leave no trace.
        """
        if study is not self._whole:
            return {}
        noted = {key: value for key, value in study.notes().items() if before.get(key) != value}
        notes: dict[str, JsonValue] = {"study": noted, "rejected": rejected}
        return {key: value for key, value in notes.items() if value}

    def _add_source(self, point: Point, observation: Observation) -> None:
        """Add a trial as a source for CMA-ES, which starts with the spread of earlier trials.

        CMA-ES uses only numeric parameters, and every source must have all of them.
        """
        numbers = self._space.numeric_trial_kwargs(point)
        if numbers is not None:
            self._sources.append(optuna.trial.create_trial(value=observation.value, **numbers))

    def _sampler(self, trial: int) -> samplers.BaseSampler:
        seed = Stream(~self._seed, trial).seed()
        starting, population = self._choice.startup_trials, self._choice.population_size
        make: Mapping[str, Callable[[], samplers.BaseSampler]] = {
            "quasi_random": lambda: samplers.QMCSampler(
                qmc_type="sobol",
                scramble=True,
                seed=self._seed,  # All trials share one sequence.
                independent_sampler=samplers.RandomSampler(seed=seed),
                warn_independent_sampling=False,
            ),
            "tpe": lambda: samplers.TPESampler(seed=seed, **_set(n_startup_trials=starting)),
            "gp": lambda: _gaussian(
                seed=seed, warn_independent_sampling=False, **_set(n_startup_trials=starting)
            ),
            "cmaes": lambda: samplers.CmaEsSampler(
                seed=seed,
                warn_independent_sampling=False,
                consider_pruned_trials=True,
                source_trials=self._sources or None,
                **_set(n_startup_trials=starting, popsize=population),
            ),
            "nsga2": lambda: samplers.NSGAIISampler(seed=seed, **_set(population_size=population)),
        }
        return make[self._choice.name]()


def _gaussian(**chosen: Any) -> samplers.BaseSampler:
    """Import torch only for searches that need it."""
    from services.searcher.core.samplers.gaussian import FastGPSampler

    return FastGPSampler(**chosen)


def _set(**values: int | None) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
