"""Requests and responses for the phases of trials."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import PageRequest, Reference, Resource
from services.gateway.trials.schema import TrialState


class PhaseKind(StrEnum):
    """The main phases are `queued` or `parked`, `preparing`, `starting` and `training`, in this order. `running` covers a whole run whose worker reported no phases. All other phases lie within a main phase."""

    QUEUED = "queued"
    PARKED = "parked"
    PREPARING = "preparing"
    FETCHING_CODE = "fetching_code"
    MAKING_ENVIRONMENT = "making_environment"
    RESTORING = "restoring"
    STARTING = "starting"
    TRAINING = "training"
    FIRST_STEP = "first_step"
    WRITING_CHECKPOINT = "writing_checkpoint"
    UPLOADING_CHECKPOINT = "uploading_checkpoint"
    RUNNING = "running"


class Phase(Resource):
    """A phase of a trial. Of the checkpoint phases, only the first of each run and those of one second or more are listed."""

    kind: PhaseKind
    run: int | None = Field(default=None, description="Number of the run. Null while the trial waits.")
    began_at: datetime
    ended_at: datetime | None = Field(default=None, description="Null while the phase continues.")
    within: PhaseKind | None = Field(default=None, description="The main phase that contains this phase.")
    step: int | None = Field(default=None, description="Step of the checkpoint, for checkpoint phases.")
    reason: str | None = Field(
        default=None, description="Why the last attempt to upload failed. The upload is retried."
    )
    image: str | None = Field(
        default=None, description="Image that was pulled for the run's container, with its digest."
    )


class WaitingUploads(Resource):
    """Checkpoints that are still on their machine because their upload fails. Uploads are retried."""

    checkpoints: int = Field(description="Number of waiting checkpoints.")
    since: datetime = Field(description="When the script saved the oldest of them.")
    reason: str = Field(description="Why the last attempt to upload the oldest of them failed.")


class TrialPhases(Resource):
    """The phases of one trial. Each main phase comes before the phases within it."""

    trial: UUID
    trial_number: int
    state: TrialState
    phases: list[Phase]
    waiting_uploads: WaitingUploads | None = Field(
        default=None, description="Null if no checkpoint upload is failing."
    )


class TrialPhasesPage(Resource):
    """A page of trials by number."""

    items: list[TrialPhases]
    next_cursor: str | None = None


class ListExperimentPhasesRequest(PageRequest):
    """The phases of an experiment's trials."""

    experiment: Reference
