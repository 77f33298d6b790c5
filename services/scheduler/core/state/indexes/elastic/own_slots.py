"""What of its slots is an elastic run's own: all beyond is lent to it."""

from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from shared.ids import WorkerId


def own_slots(run: Run, trial: Trial) -> dict[WorkerId, int]:
    """What of an elastic run's slots is its own: its minimum, the chief's first; all, where its trial does not react when it is asked to
    save and go: it would be killed, and lose its work."""
    if trial.ignores_signals:
        return {share.worker: share.slots for share in run.shares}
    left, kept = trial.wish.needs.min_slots, {}
    for share in run.shares:
        kept[share.worker] = min(left, share.slots)
        left -= kept[share.worker]
    return kept
