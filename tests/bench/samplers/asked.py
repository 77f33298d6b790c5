"""Those who are asked: our sampler as a search holds it, and Optuna's own driven by hand."""

from collections.abc import Callable, Mapping

import optuna
import torch
from optuna import samplers
from optuna.trial import Trial

from muster.config import load_config
from services.searcher.core.experiment.objectives import Scores
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.samplers.drawing import Stream
from services.searcher.core.search.actions import SearchActions
from services.searcher.core.search.search import Search
from tests.bench.samplers.tables import Place, Table

Make = Callable[[int, int], samplers.BaseSampler]
"""From a seed, and the seed of what is one for the whole search, to a sampler."""

HAND: Mapping[str, Make] = {
    "random": lambda seed, _: samplers.RandomSampler(seed=seed),
    "quasi_random": lambda seed, search: samplers.QMCSampler(
        qmc_type="sobol",
        scramble=True,
        seed=search,
        independent_sampler=samplers.RandomSampler(seed=seed),
        warn_independent_sampling=False,
    ),
    "tpe": lambda seed, _: samplers.TPESampler(seed=seed),
    "gp": lambda seed, _: samplers.GPSampler(seed=seed, warn_independent_sampling=False),
    "cmaes": lambda seed, _: samplers.CmaEsSampler(
        seed=seed, warn_independent_sampling=False, consider_pruned_trials=True
    ),
    "nsga2": lambda seed, _: samplers.NSGAIISampler(seed=seed),
}


class Ours:
    """A search by method `random`, which asks its sampler for `trials` points, `at_once` at a time."""

    def __init__(self, name: str, table: Table, seed: int, trials: int, at_once: int) -> None:
        space = {
            parameter: {"type": "int", "minval": 0, "maxval": count - 1}
            if parameter in table.ordered
            else {"type": "categorical", "vals": list(range(count))}
            for parameter, count in table.parameters.items()
        }
        searcher = {"name": "random", "sampler": name, "metric": "loss", "max_trials": trials}
        document = {"entrypoint": "true", "hyperparameters": space, "searcher": searcher}
        searcher["max_concurrent_trials"] = at_once
        self._search = Search(load_config(document), seed)
        self._positions: dict[int, Place] = {}
        self._take(self._search.start())

    def ask(self, trial: int) -> Place:
        return self._positions[trial]

    def tell(self, trial: int, loss: float) -> None:
        if self._search.learns:
            self._search.observe(trial, Scores(loss))
        self._take(self._search.on_ended(trial, TrialEnding.FINISHED))

    def _take(self, actions: SearchActions) -> None:
        for made in actions.created:
            self._positions[made.number] = {name: int(str(value)) for name, value in made.point.items()}


class ByHand:
    """Optuna's sampler in a study. As most people have it: one for the study. Else, where `anew`, as we do: one for each trial, seeded by
    its number (decision 0050)."""

    def __init__(self, name: str, table: Table, seed: int, anew: bool) -> None:
        self._make, self._table, self._seed, self._anew = HAND[name], table, seed, anew
        self._study = optuna.create_study(sampler=self._make(seed, seed))
        self._trials: dict[int, Trial] = {}

    def ask(self, trial: int) -> Place:
        if self._anew:
            self._sow(trial)
        # Without the guard against a default device that nobody set (see `Gaussian`): the same points in four fifths of the time.
        with torch._C.DisableTorchFunction():
            asked = self._trials[trial] = self._study.ask()
            return {name: self._choose(asked, name) for name in sorted(self._table.parameters)}

    def tell(self, trial: int, loss: float) -> None:
        if self._anew:
            self._sow(trial)
        self._study.tell(self._trials[trial], loss)

    def _sow(self, trial: int) -> None:
        self._study.sampler = self._make(Stream(~self._seed, trial).seed(), self._seed)

    def _choose(self, asked: Trial, name: str) -> int:
        count = self._table.parameters[name]
        if name in self._table.ordered:
            return asked.suggest_int(name, 0, count - 1)
        return int(str(asked.suggest_categorical(name, range(count))))
