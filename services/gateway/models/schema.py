"""Registered models and their versions as users see them."""

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

Notes = Annotated[str, Field(max_length=100_000, description="Markdown.")]


class ModelStage(StrEnum):
    """How far a version has come; nothing goes into production that was not in staging."""

    NONE = "none"
    CANDIDATE = "candidate"
    STAGING = "staging"
    PRODUCTION = "production"
    ARCHIVED = "archived"


Approvals = Annotated[
    dict[ModelStage, Annotated[int, Field(ge=0, le=10)]],
    Field(description="How many people besides who asks must agree before a version comes to a stage."),
]


class Model(Resource):
    """A named line of versions."""

    id: UUID
    name: str
    workspace: str
    description: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    approvals: dict[str, int] = Field(
        default={}, description="How many people must agree before a version comes to a stage."
    )
    versions: int = Field(
        default=0,
        description="How many versions were made; the newest has this number.",
    )
    aliases: dict[str, int] = Field(default={}, description="Names of versions, such as `champion`.")
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int = Field(description="Rises with every change of this entry.")


class ModelPage(Resource):
    """A page of models by name."""

    items: list[Model]
    next_cursor: str | None = None


class CreateModelRequest(Request):
    """A new model; its name is unique within the workspace."""

    name: ModelName
    workspace: Annotated[Name | None, Field(description="None: `Uncategorized`.")] = None
    description: Text = ""
    notes: Notes = ""
    tags: Labels = []
    metadata: JsonObject = {}
    approvals: Approvals = {}


class EditModelRequest(Request):
    """What is left out stays as it is."""

    model: Reference
    description: Text | None = None
    notes: Notes | None = None
    add_tags: Labels = []
    remove_tags: Labels = []
    metadata: JsonObject | None = None
    approvals: Approvals = {}
    expected_version: Annotated[int | None, Field(ge=1, description="Refuse when it has changed since.")] = (
        None
    )


class ModelRequest(Request):
    """One model by its id, its name, or `workspace/name` where several workspaces have one of that name."""

    model: Reference


class ListModelsRequest(ListRequest):
    """The models of the tenant."""

    listing = Listing.of(
        Model,
        *("name", "workspace", "description", "tags", "owner", "versions", "created_at"),
        usual="name,id",
    )

    name_contains: Annotated[str | None, Field(max_length=100)] = None
    workspace: Annotated[str | None, Field(max_length=200)] = None
    tag: Annotated[Label | None, Field(description="Only those that have it.")] = None


class DeleteModelRequest(Request):
    """With all its versions, none of which may be in use."""

    model: Reference
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class ModelAlias(Request):
    """An alias names one version at a time; it moves when it is set again."""

    model: Reference
    alias: Reference


class SetModelAliasRequest(ModelAlias):
    """From now on the alias names this version."""

    version: Reference
