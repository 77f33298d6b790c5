"""The slots of an elastic run that belong to the run. All others are extra slots, which can be reclaimed."""

from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from shared.ids import WorkerId


def own_slots(run: Run, trial: Trial) -> dict[WorkerId, int]:
    """Return the run's own slots by worker: its minimum, starting with the chief. A trial that ignores the
    preemption signal keeps all its slots, because it would be killed and lose its work."""
    if trial.ignores_signals:
        return {share.worker: share.slots for share in run.shares}
    left, kept = trial.request.needs.min_slots, {}
    for share in run.shares:
        kept[share.worker] = min(left, share.slots)
        left -= kept[share.worker]
    return kept
