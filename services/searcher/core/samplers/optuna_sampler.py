"""Samplers that go by a model or a sequence: Optuna's, behind our port.

A sampler of Optuna keeps a generator, and some keep notes in the study. Here each proposal has a sampler of its own, seeded by
(experiment's seed, trial), and its notes leave with the suggestion: so a search that is rebuilt from its journal goes on exactly
as the one that was lost, without proposing anything again. The same points come of driving Optuna by hand in the same way.
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
from services.searcher.core.samplers.optuna_space import OptunaSpace
from services.searcher.core.samplers.port import Observation, RungResult, Suggestion
from services.searcher.core.samplers.rung_studies import RungStudies
from services.searcher.core.samplers.study import Study

RETRIES = 20
"""So many proposals may miss the constraints before a random point takes their place."""
_BY_RUNG = ("tpe", "gp")
"""These say how good a point is, and so can go by what trials had come to at one rung; the others breed the next points from those that ended."""
_JUDGED_EARLY = ("tpe", "cmaes")
"""These know what a trial means that was stopped early; to the others what it had reached counts as its end."""
_STARTUP_TRIALS = 10
"""Optuna's own: from so many on, `tpe` and `gp` have a model."""

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


class OptunaSampler:
    """`quasi_random`, `tpe`, `gp`, `cmaes` and `nsga2`."""

    remembers = True

    def __init__(self, domain: Domain, choice: Choice, seed: int, metrics: int = 1) -> None:
        self._domain, self._choice, self._seed = domain, choice, seed
        if choice.name == "gp":
            # Optuna imports it for this sampler alone, and its matrices are small: sharing them out to several threads costs
            # twenty times what they take.
            import torch

            torch.set_num_threads(1)
        self._words = OptunaSpace(domain.space)
        self._learned = 0
        self._sources: list[optuna.trial.FrozenTrial] = []
        # A sequence goes by no metric, and takes one only.
        self._whole = Study(self._words, self._sampler(0), metrics if self.learns else 1)
        self._rungs = RungStudies(
            lambda: Study(self._words, self._sampler(0)), choice.startup_trials or _STARTUP_TRIALS
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
        study = self._rungs.best_known() or self._whole
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

    def reach(self, trial: int, standing: RungResult) -> None:
        if self._choice.name in _BY_RUNG:
            value = standing.value if self._says_something(standing.value) else None
            self._rungs.reach(trial, standing.time, value, standing.goes_on)

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
        """Every study knows of a new trial; the one that was asked for it does already."""
        if asked is not self._whole:
            self._whole.add(trial, point, attributes=attributes)
        self._rungs.begin(trial, point, asked)

    def _observe(self, trial: int, observation: Observation) -> None:
        study, value = self._whole, observation.value
        study.use(self._sampler(trial))
        if value is None or not self._says_something(value):
            study.drop(trial)
            return
        if observation.excesses:
            study.exceed(trial, observation.excesses)
        if observation.time is not None and self._choice.name in _JUDGED_EARLY:
            study.prune(trial, int(observation.time), value)
        else:
            study.complete(trial, [value, *observation.others])

    def _says_something(self, value: float) -> bool:
        """Whether the sampler takes it: `tpe` alone knows what infinitely bad is."""
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
        """What a rebuilt search must be given beside the point. Who goes by rungs notes nothing there, and what was rejected there is
        as if it had never been."""
        if study is not self._whole:
            return {}
        noted = {key: value for key, value in study.notes().items() if before.get(key) != value}
        notes: dict[str, JsonValue] = {"study": noted, "rejected": rejected}
        return {key: value for key, value in notes.items() if value}

    def _add_source(self, point: Point, observation: Observation) -> None:
        """CMA-ES begins with the spread of earlier trials; it takes them as numbers alone, of which none may be missing from any."""
        numbers = self._words.numbers(point)
        if numbers is not None:
            self._sources.append(optuna.trial.create_trial(value=observation.value, **numbers))

    def _sampler(self, trial: int) -> samplers.BaseSampler:
        seed = Stream(~self._seed, trial).seed()
        starting, population = self._choice.startup_trials, self._choice.population_size
        make: Mapping[str, Callable[[], samplers.BaseSampler]] = {
            "quasi_random": lambda: samplers.QMCSampler(
                qmc_type="sobol",
                scramble=True,
                seed=self._seed,  # One sequence for all trials.
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
    """Imported with its torch by the searches that want it."""
    from services.searcher.core.samplers.gaussian import FastGPSampler

    return FastGPSampler(**chosen)


def _set(**values: int | None) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
