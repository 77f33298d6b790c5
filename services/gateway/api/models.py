"""Registered models and their versions as users see them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.api.base import (
    JsonObject,
    ModelName,
    PageRequest,
    Reference,
    Request,
    Resource,
    Text,
)


class Model(Resource):
    """A named line of versions."""

    id: UUID
    name: str
    description: str = ""
    metadata: JsonObject = {}
    versions: int = Field(
        default=0,
        description="How many versions were made; the newest has this number.",
    )
    aliases: dict[str, int] = Field(default={}, description="Names of versions, such as `champion`.")
    owner: str
    created_at: datetime
    version: int = Field(description="Rises with every change of this entry.")


class ModelPage(Resource):
    """A page of models by name."""

    items: list[Model]
    next_cursor: str | None = None


class CreateModelRequest(Request):
    """A new model; its name is unique within the tenant."""

    name: ModelName
    description: Text = ""
    metadata: JsonObject = {}


class ModelRequest(Request):
    """One model by its name or id."""

    model: Reference


class ListModelsRequest(PageRequest):
    """All models of the tenant."""

    name_contains: Annotated[str | None, Field(max_length=100)] = None


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


class ModelVersion(Resource):
    """A checkpoint that was promoted, with where it comes from."""

    id: UUID
    model: UUID
    model_name: str
    number: int
    name: str = ""
    comment: str = ""
    metadata: JsonObject = {}
    checkpoint: UUID
    lineage: ModelLineage
    files: int
    size_bytes: int
    owner: str
    created_at: datetime
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
    metadata: JsonObject = {}


class ListModelVersionsRequest(PageRequest):
    """The versions of one model."""

    model: Reference


class ModelVersionRequest(Request):
    """One version of a model by its number or alias; `latest` names the newest."""

    model: Reference
    version: Reference
