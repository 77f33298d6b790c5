"""Apply news of checkpoints that a trial's runs announced."""

from services.searcher.core.experiment.states import TrialState
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import settle
from services.searcher.core.reducers.events import CheckpointReport, UploadDelay
from shared.tuples import changed


def on_checkpoint(changes: Changes, report: CheckpointReport) -> None:
    """Record that an announced checkpoint was saved or abandoned, or that a saved one is corrupt."""
    trial, found, search = changes.trials[report.trial], report.checkpoint, changes.search
    if trial.is_final:
        return
    if trial.checkpoint is not None and trial.checkpoint.id == found.id:
        changes.put(changed(trial, checkpoint=found if found.is_good else None), is_dirty=False)
        return
    trial = changes.put(trial.with_checkpoint(found), is_dirty=False)
    if found.is_good and changes.is_ongoing and search.awaits_checkpoint(trial.number):
        search.on_stored(trial.number)
        changes.journal.checkpoint_stored(trial.number)
    settle(changes, trial)


def on_delayed(changes: Changes, delay: UploadDelay) -> None:
    """Record why the last checkpoints of a closed trial are not stored yet."""
    trial = changes.trials[delay.trial]
    last = max(trial.run, trial.closed.runs if trial.closed else 0)
    if trial.state is TrialState.FINISHING and delay.run == last:
        changes.put(changed(trial, reason=delay.reason))
