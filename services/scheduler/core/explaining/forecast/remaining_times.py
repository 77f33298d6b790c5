"""Quantiles of how much longer each run of a pool will hold its slots. Simulations of an experiment use them
for the other runs."""

from collections.abc import Iterable

import numpy as np

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.indexes.run_durations import Survival, survival
from services.scheduler.core.state.records.run import Run
from shared.ids import ExperimentId

CASES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles that are reported."""


class RemainingTimes:
    """Uses the durations of ended runs like `start`, but does not sample. In milliseconds; empty if too few
    runs have ended."""

    def __init__(self, cluster: Cluster, pool: Pool) -> None:
        self._cluster = cluster
        self._pool = pool
        self._known: dict[ExperimentId | None, Survival] = {}
        self._chance = 1 - np.array(CASES)

    def of_run(self, run: Run) -> tuple[float, ...]:
        """Return the time until the run's slots are free."""
        if run.id in self._pool.leaving:
            leave_ms = self._cluster.pause_durations.get(run.experiment, "leave")
            return tuple(leave_ms * part for part in CASES)
        return self._of(run.experiment, self._age(run))

    def of_next(self, experiment: ExperimentId) -> tuple[float, ...]:
        """Return the duration of a run that has not started."""
        return self._of(experiment, 0.0)

    def _of(self, experiment: ExperimentId, age_ms: float) -> tuple[float, ...]:
        found = self._cluster.run_durations.of(self._pool.policy.name, experiment)
        if found is None:
            return ()
        whose, ended = found
        if whose not in self._known:
            ages = [self._age(run) for run in self._running() if whose in (None, run.experiment)]
            self._known[whose] = survival(ended, ages, np.zeros(len(CASES)))
        return tuple(self._known[whose].rest(age_ms, self._chance).tolist())

    def _running(self) -> Iterable[Run]:
        return (self._cluster.runs[name] for name in self._pool.charges)

    def _age(self, run: Run) -> float:
        return self._cluster.now_ms - milliseconds(run.granted_at)
