"""How long a run does not train when it releases slots or receives others, learned from the runs of its
experiment."""

from collections import defaultdict, deque
from statistics import median_low
from typing import Literal

from shared.ids import ExperimentId

Kind = Literal["leave", "restart", "reform"]
PRIOR_MS: dict[Kind, int] = {"leave": 30_000, "restart": 30_000, "reform": 5_000}
"""Assumed durations before any measurement. Each counts as one additional measurement.

`leave`: from the preemption signal to the end of the run. `restart`: the same, plus the time from the next
grant to the first step, without the time in the queue. `reform`: from a live resize until the gang has formed;
the gang keeps training with its old slots during most of it.
"""
KEPT = 7
"""How many of the newest measurements of each kind count."""


class PauseDurations:
    """The index. An estimate is the median of the experiment's newest measurements and the prior, in milliseconds."""

    def __init__(self) -> None:
        self._of = defaultdict[tuple[ExperimentId, Kind], deque[int]](lambda: deque(maxlen=KEPT))
        self._medians: dict[tuple[ExperimentId, Kind], int] = {}

    def get(self, experiment: ExperimentId, kind: Kind) -> int:
        """Return the expected duration of the next pause."""
        return self._medians.get((experiment, kind), PRIOR_MS[kind])

    def add(self, experiment: ExperimentId, kind: Kind, took_ms: int) -> bool:
        """Record a measurement. Return True if the estimate has changed."""
        known = self._of[experiment, kind]
        known.append(took_ms)
        before = self.get(experiment, kind)
        self._medians[experiment, kind] = median_low([*known, PRIOR_MS[kind]])
        return self._medians[experiment, kind] != before

    def forget(self, experiment: ExperimentId) -> None:
        """Drop an experiment without open requests."""
        for kind in PRIOR_MS:
            self._of.pop((experiment, kind), None)
            self._medians.pop((experiment, kind), None)
