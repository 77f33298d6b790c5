"""Projects events of the registry on models and model versions."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.models.store import load_version_by_id
from services.gateway.models.tables import model, model_version
from services.gateway.projections.versions import Applied
from services.gateway.webhooks.core import REMOVED
from shared.messages.models import ModelChanged, VersionChanged

KEPT = "kept"


async def apply_model(
    connection: AsyncConnection, tenant: UUID, changed: ModelChanged
) -> Applied[ModelChanged] | None:
    """Apply a newer version. Return None if it is not newer."""
    query = select(model.c.is_deleted).where(model.c.id == changed.model_id)
    was_deleted = (await connection.execute(query)).scalar_one_or_none()
    values = {
        "name": changed.name,
        "workspace": changed.workspace,
        "tags": list(changed.tags),
        "is_deleted": changed.deleted_at is not None,
        "version": changed.version,
        "last_event": changed.as_json(),
    }
    statement = (
        upsert(model)
        .values(tenant=tenant, id=changed.model_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=model.c.version < changed.version)
    )
    if not (await connection.execute(statement)).rowcount:
        return None
    return Applied(changed, None if was_deleted is None else stage_or_deleted(KEPT, is_deleted=was_deleted))


async def apply_version(
    connection: AsyncConnection, tenant: UUID, changed: VersionChanged
) -> Applied[VersionChanged] | None:
    """Apply a newer version. Return None if it is not newer."""
    before = await load_version_by_id(connection, changed.version_id)
    values = {
        "number": changed.number,
        "is_deleted": changed.deleted_at is not None,
        "version": changed.version,
        "last_event": changed.as_json(),
    }
    statement = (
        upsert(model_version)
        .values(tenant=tenant, id=changed.version_id, model=changed.model_id, **values)
        .on_conflict_do_update(
            index_elements=["id"], set_=values, where=model_version.c.version < changed.version
        )
    )
    if not (await connection.execute(statement)).rowcount:
        return None
    if before is None:
        return Applied(changed, None)
    return Applied(
        changed, stage_or_deleted(before.last_event.get("stage", "none"), is_deleted=before.is_deleted)
    )


def stage_or_deleted(stage: str, *, is_deleted: bool) -> str:
    """Return the stage of a model or version for webhooks, or `REMOVED`."""
    return REMOVED if is_deleted else stage
