"""Versions of models: what they are made of, and how far they have come."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field, JsonValue

from services.gateway.models.schema import ModelStage, Notes
from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import (
    JsonObject,
    Labels,
    ListRequest,
    Reference,
    Request,
    Resource,
    Text,
)
from shared.filters.fields import Listing

Reason = Annotated[str, Field(max_length=1000)]


class Tensor(Resource):
    """One input or output of a model."""

    name: Annotated[str, Field(max_length=200)]
    dtype: Annotated[str, Field(max_length=50, description="As numpy says it: float32, int64, str.")]
    shape: Annotated[
        list[Annotated[int, Field(ge=-1)]], Field(max_length=16, description="-1: any size.")
    ] = []


class Signature(Resource):
    """What a model takes and gives."""

    inputs: Annotated[list[Tensor], Field(max_length=100)] = []
    outputs: Annotated[list[Tensor], Field(max_length=100)] = []


def _only_known(given: object) -> object:
    """Answers ignore what they do not know; in a request a misspelt `inputs` would leave the signature empty."""
    if isinstance(given, dict):
        _refuse_unknown(given, Signature)
        for tensors in given.values():
            for tensor in tensors if isinstance(tensors, list) else ():
                _refuse_unknown(tensor, Tensor)
    return given


def _refuse_unknown(given: object, model: type[Resource]) -> None:
    unknown = set(given) - set(model.model_fields) if isinstance(given, dict) else None
    if unknown:
        known = ", ".join(model.model_fields)
        raise ValueError(f"there is no {min(map(str, unknown))!r} in a signature here, but {known}")


GivenSignature = Annotated[Signature, BeforeValidator(_only_known)]
"""A signature in a request."""


class DatasetReference(Resource):
    """Data as an experiment's config states it under `data:`."""

    name: str
    version: str | None = None
    hash: str | None = None


class ModelLineage(Resource):
    """Where a version comes from."""

    experiment: UUID
    trial: UUID
    run: UUID
    checkpoint: UUID
    step: int
    code_sha256: str | None = None
    hyperparameters: JsonObject
    metrics: dict[str, float]
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Those that were no finite number, and which."
    )
    datasets: list[DatasetReference] = []
    start_checkpoint: UUID | None = None


class StageApproval(Resource):
    """One person's yes."""

    by: str
    at: datetime
    reason: str = ""


class PendingStage(Resource):
    """A change of stage that waits for approvals."""

    stage: ModelStage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int = Field(description="How many people must agree.")
    approvals: list[StageApproval] = []


class StageChange(Resource):
    """A stage that a version came to."""

    stage: ModelStage
    by: str
    at: datetime
    reason: str = ""
    approvals: list[StageApproval] = []


class ModelVersion(Resource):
    """A checkpoint that was promoted, with where it comes from. What it is made of never changes."""

    id: UUID
    model: UUID
    model_name: str
    number: int
    name: str = ""
    comment: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    signature: Signature | None = None
    stage: ModelStage = ModelStage.NONE
    pending: PendingStage | None = Field(default=None, description="A change of stage that waits.")
    stages: list[StageChange] = Field(default=[], description="How it came here, oldest first.")
    checkpoint: UUID
    lineage: ModelLineage
    files: int
    size_bytes: int
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int


class ModelVersionPage(Resource):
    """A page of versions, newest first."""

    items: list[ModelVersion]
    next_cursor: str | None = None


class CreateModelVersionRequest(Request):
    """A new version of a model, made of one saved checkpoint."""

    model: Reference
    checkpoint: UUID
    name: Annotated[str, Field(max_length=200)] = ""
    comment: Text = ""
    notes: Notes = ""
    tags: Labels = []
    metadata: JsonObject = {}
    signature: GivenSignature | None = None


class ListModelVersionsRequest(ListRequest):
    """The versions of one model."""

    listing = Listing.of(
        ModelVersion,
        *("number", "name", "comment", "tags", "stage", "checkpoint", "files", "size_bytes", "owner"),
        *("created_at", "lineage.experiment", "lineage.trial", "lineage.step"),
        usual="-number",
    )

    model: Reference


class ModelVersionRequest(Request):
    """One version of a model by its number or alias; `latest` names the newest."""

    model: Reference
    version: Reference


class EditModelVersionRequest(ModelVersionRequest):
    """What is left out stays as it is; what the version is made of cannot be changed."""

    comment: Text | None = None
    notes: Notes | None = None
    add_tags: Labels = []
    remove_tags: Labels = []
    expected_version: Annotated[int | None, Field(ge=1, description="Refuse when it has changed since.")] = (
        None
    )


class SetModelStageRequest(ModelVersionRequest):
    """Takes effect at once, or waits for the approvals that the model asks for."""

    stage: ModelStage
    reason: Reason = ""


class DecideModelStageRequest(ModelVersionRequest):
    """An answer to the change of stage that waits; one no ends it."""

    reason: Reason = ""


class DeleteModelVersionRequest(ModelVersionRequest):
    """A version that no alias names and that is not in production."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class CompareModelVersionsRequest(Request):
    """Two versions of a model, by number or alias."""

    model: Reference
    base: Reference
    other: Reference


class Difference(Resource):
    """One thing that is not the same; None where one of the two does not have it."""

    what: str = Field(description="metric, hyperparameter, file, dataset, code, signature, size or step.")
    name: str
    base: JsonValue = None
    other: JsonValue = None


class ModelComparison(Resource):
    """What differs between two versions of a model, by kind and name."""

    base: ModelVersion
    other: ModelVersion
    differences: list[Difference]


class RecordModelUseRequest(ModelVersionRequest):
    """Something used this version; the same kind and reference again changes nothing."""

    kind: Annotated[str, Field(min_length=1, max_length=100, description="inference, evaluation, …")]
    reference: Annotated[str, Field(min_length=1, max_length=500, description="Its own id where it runs.")]
    metadata: JsonObject = {}
