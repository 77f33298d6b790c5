"""What the registry does at each message of its neighbours. `EVENTS` and `COMMANDS` are given to its consumers."""

from services.registry.handlers.models import on_create_model, on_create_version
from services.registry.handlers.trials import (
    on_experiment_changed,
    on_run_ended,
    on_run_granted,
    on_run_resized,
    on_submission,
    on_trial_changed,
    on_trial_wanted,
)
from shared.bus.consumer import Handlers
from shared.bus.republish import republishing
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted, TrialChanged, TrialWanted
from shared.messages.models import CreateModel, CreateVersion
from shared.messages.runs import RunEnded, RunGranted, RunResized

EVENTS: Handlers = {
    SubmissionCommitted: on_submission,
    TrialWanted: on_trial_wanted,
    RunGranted: on_run_granted,
    RunResized: on_run_resized,
    RunEnded: on_run_ended,
    TrialChanged: on_trial_changed,
    ExperimentChanged: on_experiment_changed,
}
COMMANDS: Handlers = {
    CreateModel: on_create_model,
    CreateVersion: on_create_version,
    **republishing("registry"),
}

__all__ = ["COMMANDS", "EVENTS"]
