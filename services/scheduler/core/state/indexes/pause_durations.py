"""What it costs a run to give its slots back or to get others, learned from the runs of its experiment."""

from collections import defaultdict, deque
from statistics import median_low
from typing import Literal

from shared.ids import ExperimentId

Kind = Literal["leave", "restart", "reform"]
PRIOR_MS: dict[Kind, int] = {"leave": 30_000, "restart": 30_000, "reform": 5_000}
"""What is taken for true before anything was measured; it stands beside what was as one more measurement.

`leave`: from being asked to the end. `restart`: the same, and from the next grant to the first step; waiting in between is the queue's.
`reform`: from a resize while it trains until its gang has formed; most of that time it trains on with the slots that it had."""
KEPT = 7
"""The newest of each kind that count."""


class PauseDurations:
    """The index. What it tells is the median of the newest measurements of an experiment and the prior, in milliseconds."""

    def __init__(self) -> None:
        self._of = defaultdict[tuple[ExperimentId, Kind], deque[int]](lambda: deque(maxlen=KEPT))
        self._told: dict[tuple[ExperimentId, Kind], int] = {}

    def get(self, experiment: ExperimentId, kind: Kind) -> int:
        """What the next will take."""
        return self._told.get((experiment, kind), PRIOR_MS[kind])

    def add(self, experiment: ExperimentId, kind: Kind, took_ms: int) -> bool:
        """One more was measured; True: what is told has changed."""
        known = self._of[experiment, kind]
        known.append(took_ms)
        before = self.get(experiment, kind)
        self._told[experiment, kind] = median_low([*known, PRIOR_MS[kind]])
        return self._told[experiment, kind] != before

    def forget(self, experiment: ExperimentId) -> None:
        """Nothing of this experiment is wanted any more."""
        for kind in PRIOR_MS:
            self._of.pop((experiment, kind), None)
            self._told.pop((experiment, kind), None)
