"""What trials did when, as users see it."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import PageRequest, Reference, Resource
from services.gateway.trials.schema import TrialState


class PhaseKind(StrEnum):
    """`queued` or `parked`, `preparing`, `starting` and `training` follow each other; `running` is all of a run whose worker has told nothing. The others lie within one of these."""

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
    """A stretch of a trial's time. Of checkpoints the first of each run is told, and those that took a second or more."""

    kind: PhaseKind
    run: int | None = Field(default=None, description="None while it waits.")
    began_at: datetime
    ended_at: datetime | None = Field(default=None, description="None while it goes on.")
    within: PhaseKind | None = Field(default=None, description="The phase that it is a part of.")
    step: int | None = Field(default=None, description="Of a checkpoint.")
    reason: str | None = Field(
        default=None, description="Why an upload waits: its last attempt failed, and it is tried again."
    )


class WaitingUploads(Resource):
    """Checkpoints that wait on their machine because their upload fails; it is tried again."""

    checkpoints: int = Field(description="How many wait.")
    since: datetime = Field(description="When the first of them was saved by the script.")
    reason: str = Field(description="Why its last attempt failed.")


class TrialPhases(Resource):
    """One trial's phases, each before those within it."""

    trial: UUID
    trial_number: int
    state: TrialState
    phases: list[Phase]
    waiting_uploads: WaitingUploads | None = Field(
        default=None, description="None while no upload has failed for more than a moment."
    )


class TrialPhasesPage(Resource):
    """A page of trials by number."""

    items: list[TrialPhases]
    next_cursor: str | None = None


class ListExperimentPhasesRequest(PageRequest):
    """What an experiment's trials did when."""

    experiment: Reference
