"""Models and their versions, and where a version comes from."""

from datetime import datetime
from uuid import UUID

from pydantic import Field, JsonValue

from shared.ids import CheckpointId, ExperimentId, ModelId, RunId, TrialId, VersionId
from shared.messages.base import Command, Event, Query, Record


class CreateModel(Command, owner="registry", verb="create_model"):
    model_id: ModelId
    name: str
    description: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class CreateVersion(Command, owner="registry", verb="create_version"):
    version_id: VersionId
    model_id: ModelId
    checkpoint_id: CheckpointId
    name: str = ""
    comment: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class ModelChanged(Event, entity="model", happened="changed", key="model_id"):
    model_id: ModelId
    version: int
    name: str
    description: str
    metadata: dict[str, JsonValue]
    versions: int
    aliases: dict[str, int] = Field(default_factory=dict)
    created_at: datetime
    by: str
    operation_id: UUID | None = None


class Lineage(Record):
    """Where a model version comes from."""

    experiment_id: ExperimentId
    trial_id: TrialId
    run_id: RunId
    checkpoint_id: CheckpointId
    step: int
    code_hash: str | None
    hyperparameters: dict[str, JsonValue]
    metrics: dict[str, float]


class GetLineage(Query[Lineage], owner="registry", name="lineage"):
    version_id: VersionId


class VersionChanged(Event, entity="version", happened="changed", key="version_id"):
    version_id: VersionId
    model_id: ModelId
    model_name: str
    version: int
    number: int
    checkpoint_id: CheckpointId
    name: str
    comment: str
    metadata: dict[str, JsonValue]
    lineage: Lineage
    files: int
    size_bytes: int
    created_at: datetime
    by: str
    operation_id: UUID | None = None
