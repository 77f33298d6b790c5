"""Read models and versions as last announced by the registry. Lists omit deleted ones."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, Row, Text, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.models.tables import model, model_version
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

MAX_AMBIGUOUS_MODELS = 5
MODELS = Cells(
    model,
    {
        "description": model.c.last_event["description"].as_string(),
        "owner": model.c.last_event["by"].as_string(),
        "versions": model.c.last_event["versions"].as_integer(),
        "created_at": cast(model.c.last_event["created_at"].as_string(), DateTime(timezone=True)),
    },
)
"""Fields by which lists of models can be filtered and sorted."""
_LAST_EVENT = model_version.c.last_event
VERSIONS = Cells(
    model_version,
    {
        "name": _LAST_EVENT["name"].as_string(),
        "comment": _LAST_EVENT["comment"].as_string(),
        "tags": func.array(
            select(func.json_array_elements_text(_LAST_EVENT["tags"]))
            .correlate(model_version)
            .scalar_subquery(),
            type_=ARRAY(Text),
        ),
        "stage": _LAST_EVENT["stage"].as_string(),
        "checkpoint": _LAST_EVENT["checkpoint_id"].as_string(),
        "files": _LAST_EVENT["files"].as_integer(),
        "size_bytes": cast(_LAST_EVENT["size_bytes"].as_string(), BigInteger),
        "owner": _LAST_EVENT["by"].as_string(),
        "created_at": cast(_LAST_EVENT["created_at"].as_string(), DateTime(timezone=True)),
        "lineage.experiment": _LAST_EVENT["lineage", "experiment_id"].as_string(),
        "lineage.trial": _LAST_EVENT["lineage", "trial_id"].as_string(),
        "lineage.step": _LAST_EVENT["lineage", "step"].as_integer(),
    },
)
"""Fields by which lists of versions can be filtered and sorted."""


async def load_named(connection: AsyncConnection, reference: UUID | str) -> Sequence[Row[Any]]:
    """Return the models that an id, a name or `workspace/name` matches; a name may match in several workspaces."""
    query = select(model).where(model.c.is_deleted.is_(False))
    if isinstance(reference, UUID):
        query = query.where(model.c.id == reference)
    else:
        workspace, slash, name = reference.rpartition("/")
        query = query.where(model.c.name == name)
        if slash:
            query = query.where(model.c.workspace == workspace)
    return (await connection.execute(query.order_by(model.c.workspace).limit(MAX_AMBIGUOUS_MODELS))).all()


async def load_models(
    connection: AsyncConnection,
    *,
    name_contains: str | None,
    workspace: str | None,
    tag: str | None,
    wanted: ListQuery,
) -> RowPage:
    query = select(model).where(model.c.is_deleted.is_(False))
    if name_contains:
        query = query.where(model.c.name.icontains(name_contains, autoescape=True))
    if workspace:
        query = query.where(model.c.workspace == workspace)
    if tag:
        query = query.where(model.c.tags.contains([tag]))
    return await load_part(connection, query, MODELS, wanted)


async def load_model(connection: AsyncConnection, model_id: UUID) -> Row[Any] | None:
    """Load a model by id, even a deleted one."""
    return (await connection.execute(select(model).where(model.c.id == model_id))).one_or_none()


async def load_version_by_id(connection: AsyncConnection, version_id: UUID) -> Row[Any] | None:
    """Load a version by id, even a deleted one."""
    return (
        await connection.execute(select(model_version).where(model_version.c.id == version_id))
    ).one_or_none()


async def load_known_versions(connection: AsyncConnection, ids: Collection[UUID]) -> set[UUID]:
    """Return the ids that belong to existing versions."""
    query = select(model_version.c.id).where(model_version.c.id.in_(ids))
    return set((await connection.execute(query)).scalars())


async def load_version(connection: AsyncConnection, model_id: UUID, number: int | None) -> Row[Any] | None:
    """Load a version by number; None loads the newest."""
    query = _versions_of(model_id)
    if number is not None:
        query = query.where(model_version.c.number == number)
    return (await connection.execute(query.order_by(model_version.c.number.desc()).limit(1))).one_or_none()


async def load_versions(connection: AsyncConnection, model_id: UUID, wanted: ListQuery) -> RowPage:
    return await load_part(connection, _versions_of(model_id), VERSIONS, wanted)


def _versions_of(model_id: UUID) -> Any:
    return select(model_version).where(
        model_version.c.model == model_id, model_version.c.is_deleted.is_(False)
    )
