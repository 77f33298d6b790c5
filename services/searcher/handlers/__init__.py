"""Handlers of the searcher: one function per message type, called with one tenant's messages of a batch."""

from services.searcher.handlers.commands import CommandHandlers
from services.searcher.handlers.pools import PoolHandlers
from services.searcher.handlers.submissions import SubmissionHandlers
from services.searcher.handlers.trials import TrialHandlers
from services.searcher.runner.dispatcher import Dispatcher
from shared.bus.consumer import Handlers
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointSaved,
    UploadsDelayed,
)
from shared.messages.experiments import (
    ArchiveExperiment,
    CancelExperiment,
    EditSearch,
    FinishExperiment,
    KillExperiment,
    KillTrial,
    PauseExperiment,
    ResumeExperiment,
    SubmissionCommitted,
)
from shared.messages.pools import PoolCapacity
from shared.messages.queue import RequestClosed
from shared.messages.reports import ValidationsSuperseded, ValidationStored
from shared.messages.runs import RunEnded, RunGranted, RunResized


def event_handlers(dispatcher: Dispatcher) -> Handlers:
    """Return the event handlers in the order in which they process a batch.

    Results come before the ends of their runs and requests, and upload delays after them.
    """
    trials = TrialHandlers(dispatcher)
    return {
        SubmissionCommitted: SubmissionHandlers(dispatcher).on_submission_committed,
        RunGranted: trials.on_run_granted,
        RunResized: trials.on_run_resized,
        ValidationsSuperseded: trials.on_validations_superseded,
        ValidationStored: trials.on_validation_stored,
        CheckpointSaved: trials.on_checkpoint_settled,
        CheckpointAbandoned: trials.on_checkpoint_settled,
        CheckpointCorrupt: trials.on_checkpoint_settled,
        RunEnded: trials.on_run_ended,
        RequestClosed: trials.on_request_closed,
        UploadsDelayed: trials.on_uploads_delayed,
        PoolCapacity: PoolHandlers(dispatcher).on_pool_measured,
    }


def command_handlers(dispatcher: Dispatcher) -> Handlers:
    """Return the command handlers."""
    commands = CommandHandlers(dispatcher)
    return {
        PauseExperiment: commands.on_pause,
        ResumeExperiment: commands.on_resume,
        CancelExperiment: commands.on_cancel,
        KillExperiment: commands.on_kill,
        KillTrial: commands.on_kill_trial,
        FinishExperiment: commands.on_finish,
        EditSearch: commands.on_edit,
        ArchiveExperiment: commands.on_archive,
    }
