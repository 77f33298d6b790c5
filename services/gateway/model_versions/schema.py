"""API schema of model versions: content, lineage and stages."""

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
    """An input or output of a model."""

    name: Annotated[str, Field(max_length=200)]
    dtype: Annotated[str, Field(max_length=50, description="Data type as in NumPy: float32, int64, str.")]
    shape: Annotated[
        list[Annotated[int, Field(ge=-1)]], Field(max_length=16, description="Shape; -1 stands for any size.")
    ] = []


class Signature(Resource):
    """Inputs and outputs of a model."""

    inputs: Annotated[list[Tensor], Field(max_length=100)] = []
    outputs: Annotated[list[Tensor], Field(max_length=100)] = []


def _only_known(given: object) -> object:
    """Refuse unknown fields: resources ignore them, and a misspelled `inputs` would leave the signature empty."""
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
        raise ValueError(
            f"unknown field {min(map(str, unknown))!r} in a signature; the fields here are {known}"
        )


GivenSignature = Annotated[Signature, BeforeValidator(_only_known)]
"""A signature in a request."""


class DatasetReference(Resource):
    """A dataset from the `data` section of an experiment's config."""

    name: str
    version: str | None = None
    hash: str | None = None


class ModelLineage(Resource):
    """Origin of a version."""

    experiment: UUID
    trial: UUID
    run: UUID
    checkpoint: UUID
    step: int
    code_sha256: str | None = None
    hyperparameters: JsonObject
    metrics: dict[str, float]
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Metrics whose value is NaN or infinite, with that value."
    )
    datasets: list[DatasetReference] = []
    start_checkpoint: UUID | None = None
    image: str | None = Field(
        default=None, description="Image of the container that the run trained in, with its digest."
    )


class StageApproval(Resource):
    """A user's approval of a stage change."""

    by: str
    at: datetime
    reason: str = ""


class PendingStage(Resource):
    """A stage change that waits for approvals."""

    stage: ModelStage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int = Field(description="Number of approvals required.")
    approvals: list[StageApproval] = []


class StageChange(Resource):
    """A past stage change."""

    stage: ModelStage
    by: str
    at: datetime
    reason: str = ""
    approvals: list[StageApproval] = []


class ModelVersion(Resource):
    """A registered checkpoint with its lineage. Its content never changes."""

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
    pending: PendingStage | None = Field(default=None, description="Stage change that waits for approvals.")
    stages: list[StageChange] = Field(default=[], description="Past stage changes, oldest first.")
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
    """A saved checkpoint to register as a version of a model."""

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
        default_order="-number",
    )

    model: Reference


class ModelVersionRequest(Request):
    """One version of a model by its number or alias; `latest` names the newest."""

    model: Reference
    version: Reference


class EditModelVersionRequest(ModelVersionRequest):
    """Changes of a version's description; omitted fields stay unchanged. The content of a version cannot be changed."""

    comment: Text | None = None
    notes: Notes | None = None
    add_tags: Labels = []
    remove_tags: Labels = []
    expected_version: Annotated[
        int | None, Field(ge=1, description="Refuse the change if the current `version` differs.")
    ] = None


class SetModelStageRequest(ModelVersionRequest):
    """A stage change. It takes effect at once, or after the approvals that the model requires."""

    stage: ModelStage
    reason: Reason = ""


class DecideModelStageRequest(ModelVersionRequest):
    """An approval or rejection of the pending stage change; one rejection ends it."""

    reason: Reason = ""


class DeleteModelVersionRequest(ModelVersionRequest):
    """A version to delete; no alias may name it, and it must not be in production."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class CompareModelVersionsRequest(Request):
    """Two versions of a model, by number or alias."""

    model: Reference
    base: Reference
    other: Reference


class Difference(Resource):
    """A property that differs; null if a version does not have it."""

    what: str = Field(description="metric, hyperparameter, file, dataset, code, signature, size or step.")
    name: str
    base: JsonValue = None
    other: JsonValue = None


class ModelComparison(Resource):
    """Differences between two versions of a model, by kind and name."""

    base: ModelVersion
    other: ModelVersion
    differences: list[Difference]


class RecordModelUseRequest(ModelVersionRequest):
    """A use of a version to record. Recording the same kind and reference again changes nothing."""

    kind: Annotated[
        str, Field(min_length=1, max_length=100, description="Kind of use, such as inference or evaluation.")
    ]
    reference: Annotated[
        str, Field(min_length=1, max_length=500, description="Id of the consumer in its own system.")
    ]
    metadata: JsonObject = {}
