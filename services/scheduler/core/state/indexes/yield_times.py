"""When experiments last yielded at the end of a time slice, from their open trials. Updated by `cluster`, read
by `order`."""

from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.trial import Trial
from shared.ids import ExperimentId, TrialId


class YieldTimes:
    """See the module."""

    def __init__(self) -> None:
        self._of: dict[ExperimentId, dict[TrialId, int]] = {}
        self._last: dict[ExperimentId, int] = {}

    def follow(self, trial: Trial) -> None:
        """Update from a trial's new record."""
        experiment = trial.request.experiment
        if trial.time_slice_ended_at is not None and not trial.is_closed:
            # Requests submitted in the same millisecond go first.
            moment_ms = milliseconds(trial.time_slice_ended_at) + 1
            self._of.setdefault(experiment, {})[trial.id] = moment_ms
            self._last[experiment] = max(moment_ms, self._last.get(experiment, 0))
            return
        moments = self._of.get(experiment) if self._of else None
        if moments is None or moments.pop(trial.id, None) is None:
            return
        if moments:
            self._last[experiment] = max(moments.values())
        else:
            del self._of[experiment], self._last[experiment]

    def last_yield_ms(self, experiment: ExperimentId) -> int:
        """Return when the experiment last yielded; 0: never."""
        return self._last.get(experiment, 0)
