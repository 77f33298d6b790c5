"""One study of Optuna's, kept in memory: trials of a search, and others, in the order in which they were told."""

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna import samplers
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import Trial, TrialState
from pydantic import JsonValue

from muster.config import Point
from services.searcher.core.samplers.optuna_space import OptunaSpace

_NAME = "search"


class Study:
    """Knows pending trials, which are running there, by the numbers that they have in the search."""

    def __init__(self, words: OptunaSpace, sampler: samplers.BaseSampler, metrics: int = 1) -> None:
        self._words = words
        self._spaces: dict[str, IntersectionSearchSpace] = {}
        self._storage = optuna.storages.InMemoryStorage()
        self._study = optuna.create_study(
            storage=self._storage, study_name=_NAME, sampler=sampler, directions=["minimize"] * metrics
        )
        self._id = self._storage.get_study_id_from_name(_NAME)
        self._pending: dict[int, int] = {}

    def use(self, sampler: samplers.BaseSampler) -> None:
        """Have this sampler decide from now on.

        Which parameters all trials have had is found out once for all samplers: each would read every trial anew, which takes two
        thirds of a proposal's time after a thousand trials. It follows from the trials alone.
        """
        for name in ("_search_space", "_intersection_search_space"):
            if isinstance(space := getattr(sampler, name, None), IntersectionSearchSpace):
                setattr(sampler, name, self._spaces.setdefault(name, space))
        self._study.sampler = sampler

    def ask(self) -> tuple[Trial, Point]:
        """Return a trial that is pending now, and its point; `bind` or `reject` it."""
        asked = self._study.ask()
        return asked, self._words.ask(asked)

    def bind(self, trial: int, asked: Trial) -> None:
        """What was asked for is this trial of the search."""
        self._pending[trial] = asked.number

    def reject(self, asked: Trial) -> None:
        """What was asked for is not taken."""
        self._study.tell(asked.number, state=TrialState.FAIL)

    def add(
        self,
        trial: int | None,
        point: Point,
        state: TrialState = TrialState.RUNNING,
        value: float | None = None,
        attributes: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Take in a trial that others have proposed: pending, or with what it came to."""
        made = optuna.trial.create_trial(
            state=state, value=value, system_attrs=dict(attributes or {}), **self._words.told(point)
        )
        self._study.add_trial(made)
        if trial is not None and state is TrialState.RUNNING:
            self._pending[trial] = len(self._storage.get_all_trials(self._id, deepcopy=False)) - 1

    def awaits(self, trial: int) -> bool:
        """Whether this trial of the search is pending."""
        return trial in self._pending

    def complete(self, trial: int, values: Sequence[float]) -> None:
        """A pending trial came to this."""
        self._study.tell(self._pending.pop(trial), list(values))

    def prune(self, trial: int, step: int, value: float) -> None:
        """A pending trial was stopped early, and had come to this by then."""
        self._storage.set_trial_intermediate_value(self._running(trial), step, value)
        self._study.tell(self._pending.pop(trial), state=TrialState.PRUNED)

    def drop(self, trial: int) -> None:
        """A pending trial comes to nothing."""
        self._study.tell(self._pending.pop(trial), state=TrialState.FAIL)

    def exceed(self, trial: int, excesses: Sequence[float]) -> None:
        """A pending trial misses limits by this much, in their order."""
        asked = Trial(self._study, self._running(trial))
        for index, excess in enumerate(excesses):
            asked.set_constraint(str(index), excess)

    def notes(self) -> dict[str, Any]:
        """Return what samplers have noted for the whole study."""
        return self._storage.get_study_system_attrs(self._id)

    def note(self, notes: Mapping[str, Any]) -> None:
        """Take in what they had noted."""
        for key, value in notes.items():
            self._storage.set_study_system_attr(self._id, key, value)

    def attributes(self, trial: int) -> dict[str, Any]:
        """Return what samplers have noted of a pending trial; Optuna's own goes on changing."""
        return dict(self._storage.get_trial(self._running(trial)).system_attrs)

    def _running(self, trial: int) -> int:
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, self._pending[trial])
