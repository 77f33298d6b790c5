"""An Optuna study in memory, with trials in the order in which they were added."""

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
    """Identifies pending trials, which Optuna calls running, by their numbers in the search."""

    def __init__(self, space: OptunaSpace, sampler: samplers.BaseSampler, metrics: int = 1) -> None:
        self._space = space
        self._spaces: dict[str, IntersectionSearchSpace] = {}
        self._storage = optuna.storages.InMemoryStorage()
        self._study = optuna.create_study(
            storage=self._storage, study_name=_NAME, sampler=sampler, directions=["minimize"] * metrics
        )
        self._id = self._storage.get_study_id_from_name(_NAME)
        self._pending: dict[int, int] = {}

    def use(self, sampler: samplers.BaseSampler) -> None:
        """Use this sampler from now on.

        The parameters that all trials share are computed once for all samplers; otherwise each sampler would read
        every trial again, which takes two thirds of a proposal's time after a thousand trials. They depend only on
        the trials.
        """
        for name in ("_search_space", "_intersection_search_space"):
            if isinstance(space := getattr(sampler, name, None), IntersectionSearchSpace):
                setattr(sampler, name, self._spaces.setdefault(name, space))
        self._study.sampler = sampler

    def ask(self) -> tuple[Trial, Point]:
        """Return a trial that is now pending, and its point; call `bind` or `reject` with it."""
        asked = self._study.ask()
        return asked, self._space.ask(asked)

    def bind(self, trial: int, asked: Trial) -> None:
        """Make the asked trial the one with this number."""
        self._pending[trial] = asked.number

    def reject(self, asked: Trial) -> None:
        """Discard the asked trial."""
        self._study.tell(asked.number, state=TrialState.FAIL)

    def add(
        self,
        trial: int | None,
        point: Point,
        state: TrialState = TrialState.RUNNING,
        value: float | None = None,
        attributes: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Add a trial proposed elsewhere: pending, or with its result."""
        made = optuna.trial.create_trial(
            state=state,
            value=value,
            system_attrs=dict(attributes or {}),
            **self._space.to_trial_kwargs(point),
        )
        self._study.add_trial(made)
        if trial is not None and state is TrialState.RUNNING:
            self._pending[trial] = len(self._storage.get_all_trials(self._id, deepcopy=False)) - 1

    def awaits(self, trial: int) -> bool:
        """Whether this trial is pending."""
        return trial in self._pending

    def complete(self, trial: int, values: Sequence[float]) -> None:
        """Record the result of a pending trial."""
        self._study.tell(self._pending.pop(trial), list(values))

    def prune(self, trial: int, step: int, value: float) -> None:
        """Record that a pending trial was pruned with this intermediate value."""
        self._storage.set_trial_intermediate_value(self._running(trial), step, value)
        self._study.tell(self._pending.pop(trial), state=TrialState.PRUNED)

    def drop(self, trial: int) -> None:
        """Record that a pending trial failed."""
        self._study.tell(self._pending.pop(trial), state=TrialState.FAIL)

    def exceed(self, trial: int, excesses: Sequence[float]) -> None:
        """Record by how much a pending trial exceeds each limit, in order."""
        asked = Trial(self._study, self._running(trial))
        for index, excess in enumerate(excesses):
            asked.set_constraint(str(index), excess)

    def notes(self) -> dict[str, Any]:
        """Return the attributes that samplers have set on the study."""
        return self._storage.get_study_system_attrs(self._id)

    def note(self, notes: Mapping[str, Any]) -> None:
        """Set attributes on the study."""
        for key, value in notes.items():
            self._storage.set_study_system_attr(self._id, key, value)

    def attributes(self, trial: int) -> dict[str, Any]:
        """Return a copy of the attributes that samplers have set on a pending trial."""
        return dict(self._storage.get_trial(self._running(trial)).system_attrs)

    def _running(self, trial: int) -> int:
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, self._pending[trial])
