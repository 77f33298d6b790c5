"""Message handlers of the registry. Its consumers receive `EVENTS` and `COMMANDS`."""

from services.registry.checkpoints.handlers import (
    on_run_ended,
    on_worker_joined,
    on_worker_lost,
    on_worker_removed,
)
from services.registry.models.handlers.command_handler import handle_each
from services.registry.models.handlers.models import create_model, delete_model, edit_model, set_alias
from services.registry.models.handlers.versions import (
    create_version,
    decide_stage,
    delete_version,
    edit_version,
    record_consumer,
    set_stage,
)
from services.registry.runs.handlers import (
    on_experiment_changed,
    on_run_granted,
    on_run_resized,
    on_submission,
    on_trial_changed,
    on_trial_requested,
)
from services.registry.storage.handlers import on_storage_limit, on_workspace_storage_limit
from shared.bus.consumer import Handlers
from shared.bus.republish import republishing
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted, TrialChanged, TrialRequested
from shared.messages.limits import StorageLimitChanged, WorkspaceStorageLimitChanged
from shared.messages.models import (
    CreateModel,
    CreateVersion,
    DecideStage,
    DeleteModel,
    DeleteVersion,
    EditModel,
    EditVersion,
    RecordConsumer,
    SetAlias,
    SetStage,
)
from shared.messages.runs import RunEnded, RunGranted, RunResized
from shared.messages.workers import WorkerJoined, WorkerLost, WorkerRemoved

EVENTS: Handlers = {
    SubmissionCommitted: on_submission,
    TrialRequested: on_trial_requested,
    RunGranted: on_run_granted,
    RunResized: on_run_resized,
    RunEnded: on_run_ended,
    TrialChanged: on_trial_changed,
    ExperimentChanged: on_experiment_changed,
    StorageLimitChanged: on_storage_limit,
    WorkspaceStorageLimitChanged: on_workspace_storage_limit,
    WorkerJoined: on_worker_joined,
    WorkerLost: on_worker_lost,
    WorkerRemoved: on_worker_removed,
}
COMMANDS: Handlers = {
    CreateModel: handle_each(create_model),
    EditModel: handle_each(edit_model),
    SetAlias: handle_each(set_alias),
    DeleteModel: handle_each(delete_model),
    CreateVersion: handle_each(create_version),
    EditVersion: handle_each(edit_version),
    SetStage: handle_each(set_stage),
    DecideStage: handle_each(decide_stage),
    DeleteVersion: handle_each(delete_version),
    RecordConsumer: handle_each(record_consumer),
    **republishing("registry"),
}

__all__ = ["COMMANDS", "EVENTS"]
