"""API schema of registered models."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import (
    JsonObject,
    Label,
    Labels,
    ListRequest,
    ModelName,
    Name,
    Reference,
    Request,
    Resource,
    Text,
)
from shared.filters.fields import Listing

Notes = Annotated[str, Field(max_length=100_000, description="Notes in Markdown.")]


class ModelStage(StrEnum):
    """Stage of a version. Only versions in staging can move to production."""

    NONE = "none"
    CANDIDATE = "candidate"
    STAGING = "staging"
    PRODUCTION = "production"
    ARCHIVED = "archived"


Approvals = Annotated[
    dict[ModelStage, Annotated[int, Field(ge=0, le=10)]],
    Field(description="Number of approvals that a version needs to enter a stage, besides the requester."),
]


class Model(Resource):
    """A registered model: a named series of versions."""

    id: UUID
    name: str
    workspace: str
    description: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    approvals: dict[str, int] = Field(
        default={}, description="Number of approvals that a version needs to enter a stage."
    )
    versions: int = Field(
        default=0,
        description="Number of versions created so far, which is also the number of the newest.",
    )
    aliases: dict[str, int] = Field(default={}, description="Version numbers by alias, such as `champion`.")
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int = Field(description="Increases with every change of this model.")


class ModelPage(Resource):
    """A page of models by name."""

    items: list[Model]
    next_cursor: str | None = None


class CreateModelRequest(Request):
    """A new model; its name is unique within the workspace."""

    name: ModelName
    workspace: Annotated[Name | None, Field(description="Workspace; by default `Uncategorized`.")] = None
    description: Text = ""
    notes: Notes = ""
    tags: Labels = []
    metadata: JsonObject = {}
    approvals: Approvals = {}


class EditModelRequest(Request):
    """Changes of a model; omitted fields stay unchanged."""

    model: Reference
    description: Text | None = None
    notes: Notes | None = None
    add_tags: Labels = []
    remove_tags: Labels = []
    metadata: JsonObject | None = None
    approvals: Approvals = {}
    expected_version: Annotated[
        int | None, Field(ge=1, description="Refuse the change if the model's `version` differs.")
    ] = None


class ModelRequest(Request):
    """A model by its id, its name, or `workspace/name` if several workspaces have a model of that name."""

    model: Reference


class ListModelsRequest(ListRequest):
    """Filters for the tenant's models."""

    listing = Listing.of(
        Model,
        *("name", "workspace", "description", "tags", "owner", "versions", "created_at"),
        default_order="name,id",
    )

    name_contains: Annotated[str | None, Field(max_length=100)] = None
    workspace: Annotated[str | None, Field(max_length=200)] = None
    tag: Annotated[Label | None, Field(description="Return only models with this tag.")] = None


class DeleteModelRequest(Request):
    """A model to delete with all its versions, none of which may be in use."""

    model: Reference
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class ModelAlias(Request):
    """An alias of a model. It names one version at a time."""

    model: Reference
    alias: Reference


class SetModelAliasRequest(ModelAlias):
    """The version that the alias is to name."""

    version: Reference
