"""Samplers that go by a model or a sequence: Optuna's, behind our port.

A sampler of Optuna keeps a generator, and some keep notes in the study. Here each proposal has a sampler of its own, seeded by
(experiment's seed, trial), and its notes leave with the suggestion: so a search that is rebuilt from its journal goes on exactly
as the one that was lost, without proposing anything again. The same points come of driving Optuna by hand in the same way.
"""

import json
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import optuna
from optuna import distributions, samplers
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import Trial, TrialState
from pydantic import JsonValue

from muster.config import Categorical, Const, Double, Int, Log, Point, holds, parents_first, put, stepped
from muster.config.conditions import has_value, value_at
from muster.config.samplers import Sampler as Choice
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream
from services.searcher.core.samplers.port import Observation, Suggestion

Varied = Categorical | Int | Double | Log
RETRIES = 20
"""So many proposals may miss the constraints before a random point takes their place."""
_JUDGED_EARLY = ("tpe", "cmaes")
"""These know what a trial means that was stopped early; to the others what it had reached counts as its end."""

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


class Modelled:
    """`quasi_random`, `tpe`, `gp`, `cmaes` and `nsga2`."""

    remembers = True

    def __init__(self, domain: Domain, choice: Choice, seed: int, metrics: int = 1) -> None:
        self._domain, self._choice, self._seed = domain, choice, seed
        self._spaces: dict[str, IntersectionSearchSpace] = {}
        if choice.name == "gp":
            # Optuna imports it for this sampler alone, and its matrices are small: sharing them out to several threads costs
            # twenty times what they take.
            import torch

            torch.set_num_threads(1)
        self._leaves = [(_name(path), path, parameter) for path, parameter in parents_first(domain.space)]
        self._learned = 0
        self._sources: list[optuna.trial.FrozenTrial] = []
        self._storage = optuna.storages.InMemoryStorage()
        self._study = optuna.create_study(
            storage=self._storage,
            study_name="search",
            sampler=self._sampler(0),
            # A sequence goes by no metric, and takes one only.
            directions=["minimize"] * (metrics if self.learns else 1),
        )
        self._id = self._storage.get_study_id_from_name("search")
        self._numbers: dict[int, int] = {}

    @property
    def learns(self) -> bool:
        return self._choice.name != "quasi_random"

    def learn(self, point: Point, observation: Observation) -> None:
        attributes: dict[str, JsonValue] = {}
        if self._choice.name == "nsga2":
            attributes = {samplers.NSGAIISampler._get_generation_key(): 0}
        number = -self._learned  # Trials of this search count from 1.
        self._learned += 1
        self._add(number, point, attributes, TrialState.RUNNING)
        self.observe(number, observation)
        if self._choice.name == "cmaes" and observation.time is None:
            self._add_source(point, observation)

    def propose(self, trial: int) -> Suggestion:
        self._study.sampler = self._sampler(trial)
        before = self._storage.get_study_system_attrs(self._id)
        rejected: list[JsonValue] = []
        for _ in range(RETRIES):
            asked = self._study.ask()
            point = self._ask(asked)
            if self._domain.admits(point):
                return self._suggested(trial, asked, point, before, rejected)
            self._study.tell(asked.number, state=TrialState.FAIL)
            rejected.append(point)
        stream = Stream(self._seed, trial)
        stream.seed()
        suggestion = Suggestion(
            self._domain.draw(stream), {"study": self._noted(before), "rejected": rejected}
        )
        self._add(trial, suggestion.point, {}, TrialState.RUNNING)
        return suggestion

    def take(self, trial: int, suggestion: Suggestion) -> None:
        memo: dict[str, Any] = suggestion.memo
        for point in memo.get("rejected", ()):
            self._add(None, point, {}, TrialState.FAIL)
        self._add(trial, suggestion.point, memo.get("trial", {}), TrialState.RUNNING)
        for key, value in memo.get("study", {}).items():
            self._storage.set_study_system_attr(self._id, key, value)

    def observe(self, trial: int, observation: Observation) -> None:
        number, value = self._numbers[trial], observation.value
        self._study.sampler = self._sampler(trial)
        if value is None or (not math.isfinite(value) and self._choice.name != "tpe"):
            self._study.tell(number, state=TrialState.FAIL)
            return
        running = self._storage.get_trial_id_from_study_id_trial_number(self._id, number)
        if observation.excesses:
            asked = Trial(self._study, running)
            for index, excess in enumerate(observation.excesses):
                asked.set_constraint(str(index), excess)
        if observation.time is not None and self._choice.name in _JUDGED_EARLY:
            self._storage.set_trial_intermediate_value(running, int(observation.time), value)
            self._study.tell(number, state=TrialState.PRUNED)
        else:
            self._study.tell(number, [value, *observation.others])

    def _ask(self, asked: Trial) -> Point:
        point: Point = {}
        for name, path, parameter in self._leaves:
            if holds(parameter, point):
                put(
                    point,
                    path,
                    parameter.val if isinstance(parameter, Const) else _ask(asked, name, parameter),
                )
        return point

    def _suggested(
        self, trial: int, asked: Trial, point: Point, before: Mapping[str, Any], rejected: list[JsonValue]
    ) -> Suggestion:
        self._numbers[trial] = asked.number
        attributes = self._storage.get_trial(
            self._storage.get_trial_id_from_study_id_trial_number(self._id, asked.number)
        ).system_attrs
        notes: dict[str, JsonValue] = {
            "study": self._noted(before),
            "trial": dict(attributes),  # Optuna's own goes on changing.
            "rejected": rejected,
        }
        return Suggestion(point, {key: value for key, value in notes.items() if value})

    def _noted(self, before: Mapping[str, Any]) -> dict[str, JsonValue]:
        after = self._storage.get_study_system_attrs(self._id)
        return {key: value for key, value in after.items() if before.get(key) != value}

    def _add(
        self, trial: int | None, point: Point, attributes: Mapping[str, JsonValue], state: TrialState
    ) -> None:
        varied = [
            (name, parameter, value_at(point, path))
            for name, path, parameter in self._leaves
            if not isinstance(parameter, Const) and has_value(point, path)
        ]
        self._study.add_trial(
            optuna.trial.create_trial(
                state=state,
                params={name: _as_asked(parameter, value) for name, parameter, value in varied},
                distributions={name: _distribution(parameter) for name, parameter, _ in varied},
                system_attrs=dict(attributes),
            )
        )
        if trial is not None:
            self._numbers[trial] = len(self._storage.get_all_trials(self._id, deepcopy=False)) - 1

    def _add_source(self, point: Point, observation: Observation) -> None:
        """CMA-ES begins with the spread of earlier trials; it takes them as numbers alone, of which none may be missing from any."""
        numbers = [
            (name, path, parameter)
            for name, path, parameter in self._leaves
            if isinstance(parameter, Int | Double | Log)
        ]
        if not any(parameter.when for _, _, parameter in numbers):
            self._sources.append(
                optuna.trial.create_trial(
                    value=observation.value,
                    params={name: value_at(point, path) for name, path, _ in numbers},
                    distributions={name: _distribution(parameter) for name, _, parameter in numbers},
                )
            )

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
        return self._sharing_space(make[self._choice.name]())

    def _sharing_space(self, sampler: samplers.BaseSampler) -> samplers.BaseSampler:
        """Which parameters all trials have had is found out once for all samplers: each would read every trial anew, which takes two
        thirds of a proposal's time after a thousand trials. It follows from the trials alone."""
        for name in ("_search_space", "_intersection_search_space"):
            if isinstance(space := getattr(sampler, name, None), IntersectionSearchSpace):
                setattr(sampler, name, self._spaces.setdefault(name, space))
        return sampler


def _gaussian(**chosen: Any) -> samplers.BaseSampler:
    """Imported with its torch by the searches that want it."""
    from services.searcher.core.samplers.gaussian import Gaussian

    return Gaussian(**chosen)


def _ask(asked: Trial, name: str, parameter: Varied) -> JsonValue:
    match _distribution(parameter):
        case distributions.CategoricalDistribution(choices=choices):
            assert isinstance(parameter, Categorical)
            return parameter.vals[int(str(asked.suggest_categorical(name, choices)))]
        case distributions.IntDistribution(low=low, high=high, step=step):
            return asked.suggest_int(name, low, high, step=step)
        case distributions.FloatDistribution(low=low, high=high, step=step, log=log):
            value = asked.suggest_float(name, low, high, step=step, log=log)
            return round(value, 12) if step else value
    raise AssertionError(parameter)


def _distribution(parameter: Varied) -> distributions.BaseDistribution:
    """What Optuna calls it. Of a choice it knows the place only: values may be lists and mappings."""
    match parameter:
        case Categorical():
            return distributions.CategoricalDistribution(range(len(parameter.vals)))
        case Int():
            step = parameter.step or 1
            last = parameter.minval + (parameter.maxval - parameter.minval) // step * step
            return distributions.IntDistribution(parameter.minval, last, step=step)
        case Double(step=float(step)):
            steps = stepped(parameter) or 1
            high = round(parameter.minval + (steps - 1) * step, 12)
            return distributions.FloatDistribution(parameter.minval, high, step=step)
        case Double():
            return distributions.FloatDistribution(parameter.minval, parameter.maxval)
        case Log():
            ends = (parameter.base**parameter.minval, parameter.base**parameter.maxval)
            return distributions.FloatDistribution(min(ends), max(ends), log=True)


def _as_asked(parameter: Varied, value: JsonValue) -> Any:
    if not isinstance(parameter, Categorical):
        return value
    words = [json.dumps(each, sort_keys=True) for each in parameter.vals]
    return words.index(json.dumps(value, sort_keys=True))


def _name(path: tuple[str, ...]) -> str:
    return json.dumps(path)


def _set(**values: int | None) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
