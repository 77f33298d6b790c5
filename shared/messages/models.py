"""Models and their versions: what is asked of the registry, and what it says of them."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field, JsonValue

from shared.ids import CheckpointId, ModelId, VersionId
from shared.messages.base import Command, Event, Record
from shared.messages.lineage import Lineage
from shared.messages.specs import UNCATEGORIZED

Stage = Literal["none", "candidate", "staging", "production", "archived"]


class Approval(Record):
    """One person's yes to a change of stage."""

    by: str
    at: datetime
    reason: str = ""


class PendingStage(Record):
    """A change of stage that waits for the approvals that the model asks for. `needed`: how many in all."""

    stage: Stage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int
    approvals: tuple[Approval, ...] = ()


class StageChange(Record):
    """A stage that a version came to: who asked for it, and who agreed."""

    stage: Stage
    by: str
    at: datetime
    reason: str = ""
    approvals: tuple[Approval, ...] = ()


class CreateModel(Command, owner="registry", verb="create_model"):
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
    """What is None stays. `approvals`, of the stages that it names: how many people besides who asks must agree before a version comes there."""

    model_id: ModelId
    description: str | None = None
    notes: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] | None = None
    approvals: dict[Stage, int] = Field(default_factory=dict)
    by: str


class SetAlias(Command, owner="registry", verb="set_alias"):
    """From now on the alias names this version, and no other; None: it names none."""

    model_id: ModelId
    alias: str
    number: int | None
    by: str


class DeleteModel(Command, owner="registry", verb="delete_model"):
    model_id: ModelId
    reason: str
    by: str


class CreateVersion(Command, owner="registry", verb="create_version"):
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
    """What is None stays; checkpoint, lineage, signature, name and metadata never change."""

    version_id: VersionId
    comment: str | None = None
    notes: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    by: str


class SetStage(Command, owner="registry", verb="set_stage"):
    """Takes effect at once where the model asks for no approvals, else when they are there."""

    version_id: VersionId
    stage: Stage
    reason: str = ""
    by: str


class DecideStage(Command, owner="registry", verb="decide_stage"):
    """One person's answer to the pending change of stage; a no ends it, and so does a no of who asked."""

    version_id: VersionId
    approve: bool
    reason: str = ""
    by: str


class DeleteVersion(Command, owner="registry", verb="delete_version"):
    version_id: VersionId
    reason: str
    by: str


class RecordConsumer(Command, owner="registry", verb="record_consumer"):
    """Something used the version: `kind` is its word (inference, evaluation), `reference` its own id there; the second of both is the same."""

    consumer_id: UUID
    version_id: VersionId
    kind: str
    reference: str
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class ModelChanged(Event, entity="model", happened="changed", key="model_id"):
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
