"""Models and their versions: commands to the registry, and its events."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field, JsonValue

from shared.ids import CheckpointId, ModelId, VersionId
from shared.messages.base import Command, Event, Record
from shared.messages.lineage import Lineage
from shared.messages.trial_specs import UNCATEGORIZED

Stage = Literal["none", "candidate", "staging", "production", "archived"]


class Approval(Record):
    """One user's approval of a stage change."""

    by: str
    at: datetime
    reason: str = ""


class PendingStage(Record):
    """A stage change that waits for approvals. `needed`: the total number of approvals."""

    stage: Stage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int
    approvals: tuple[Approval, ...] = ()


class StageChange(Record):
    """A completed stage change: who requested it, and who approved it."""

    stage: Stage
    by: str
    at: datetime
    reason: str = ""
    approvals: tuple[Approval, ...] = ()


class CreateModel(Command, owner="registry", verb="create_model"):
    """Create a model in a workspace."""

    model_id: ModelId
    name: str
    workspace: str = UNCATEGORIZED
    description: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    approvals: dict[Stage, int] = Field(default_factory=dict)
    by: str


class EditModel(Command, owner="registry", verb="edit_model"):
    """Change a model. Fields that are None stay unchanged.

    `approvals`: for each stage, how many users besides the requester must approve before a version reaches it.
    """

    model_id: ModelId
    description: str | None = None
    notes: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] | None = None
    approvals: dict[Stage, int] = Field(default_factory=dict)
    by: str


class SetAlias(Command, owner="registry", verb="set_alias"):
    """Point an alias at one version of the model; `number` None removes the alias."""

    model_id: ModelId
    alias: str
    number: int | None
    by: str


class DeleteModel(Command, owner="registry", verb="delete_model"):
    """Delete a model with all its versions, unless one is in use."""

    model_id: ModelId
    reason: str
    by: str


class CreateVersion(Command, owner="registry", verb="create_version"):
    """Register a saved checkpoint as a version of a model."""

    version_id: VersionId
    model_id: ModelId
    checkpoint_id: CheckpointId
    name: str = ""
    comment: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    signature: dict[str, JsonValue] | None = None
    by: str


class EditVersion(Command, owner="registry", verb="edit_version"):
    """Change a version. Fields that are None stay unchanged. Checkpoint, lineage, signature, name and metadata are immutable."""

    version_id: VersionId
    comment: str | None = None
    notes: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    by: str


class SetStage(Command, owner="registry", verb="set_stage"):
    """Change a version's stage: at once if the model requires no approvals for it, otherwise once they are given."""

    version_id: VersionId
    stage: Stage
    reason: str = ""
    by: str


class DecideStage(Command, owner="registry", verb="decide_stage"):
    """Approve or reject a pending stage change. One rejection ends it, also the requester's own."""

    version_id: VersionId
    approve: bool
    reason: str = ""
    by: str


class DeleteVersion(Command, owner="registry", verb="delete_version"):
    """Delete a version that is not in use."""

    version_id: VersionId
    reason: str
    by: str


class RecordConsumer(Command, owner="registry", verb="record_consumer"):
    """Record a use of the version.

    `kind`: what used it, such as inference or evaluation. `reference`: its id there. A second use with equal kind and reference is ignored.
    """

    consumer_id: UUID
    version_id: VersionId
    kind: str
    reference: str
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class ModelChanged(Event, entity="model", happened="changed", key="model_id"):
    """registry → gateway: state of a model."""

    model_id: ModelId
    version: int
    name: str
    workspace: str = UNCATEGORIZED
    description: str
    notes: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue]
    approvals: dict[Stage, int] = Field(default_factory=dict)
    versions: int
    aliases: dict[str, int] = Field(default_factory=dict)
    created_at: datetime
    by: str
    deleted_at: datetime | None = None
    deleted_reason: str | None = None
    changed_by: str | None = None
    operation_id: UUID | None = None


class VersionChanged(Event, entity="version", happened="changed", key="version_id"):
    """registry → gateway: state of a model version."""

    version_id: VersionId
    model_id: ModelId
    model_name: str
    version: int
    number: int
    checkpoint_id: CheckpointId
    name: str
    comment: str
    notes: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue]
    signature: dict[str, JsonValue] | None = None
    stage: Stage = "none"
    pending: PendingStage | None = None
    stages: tuple[StageChange, ...] = ()
    lineage: Lineage
    files: int
    size_bytes: int
    created_at: datetime
    by: str
    deleted_at: datetime | None = None
    deleted_reason: str | None = None
    changed_by: str | None = None
    operation_id: UUID | None = None
