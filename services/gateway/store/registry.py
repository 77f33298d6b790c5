"""Models, versions, code and instances: what other services say, as far as lists and names need it here."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import code, instance, model, model_version
from shared.messages.instances import InstanceChanged
from shared.messages.models import ModelChanged, VersionChanged


async def apply_model(connection: AsyncConnection, tenant: UUID, changed: ModelChanged) -> bool:
    """Takes over a newer version; False for one already known."""
    values = {"name": changed.name, "version": changed.version, "changed": changed.model_dump(mode="json")}
    statement = (
        upsert(model)
        .values(tenant=tenant, id=changed.model_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=model.c.version < changed.version)
    )
    return (await connection.execute(statement)).rowcount > 0


async def apply_version(connection: AsyncConnection, tenant: UUID, changed: VersionChanged) -> bool:
    """Takes over a newer version; False for one already known."""
    values = {
        "number": changed.number,
        "version": changed.version,
        "changed": changed.model_dump(mode="json"),
    }
    statement = (
        upsert(model_version)
        .values(tenant=tenant, id=changed.version_id, model=changed.model_id, **values)
        .on_conflict_do_update(
            index_elements=["id"], set_=values, where=model_version.c.version < changed.version
        )
    )
    return (await connection.execute(statement)).rowcount > 0


async def apply_instance(connection: AsyncConnection, changed: InstanceChanged) -> bool:
    """Takes over a newer version; False for one already known."""
    values = {"version": changed.version, "changed": changed.model_dump(mode="json")}
    statement = (
        upsert(instance)
        .values(id=changed.instance_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=instance.c.version < changed.version)
    )
    return (await connection.execute(statement)).rowcount > 0


async def load_model(connection: AsyncConnection, reference: UUID | str) -> Row[Any] | None:
    """By its id or name."""
    column = model.c.id if isinstance(reference, UUID) else model.c.name
    return (await connection.execute(select(model).where(column == reference))).one_or_none()


async def load_models(
    connection: AsyncConnection, name_contains: str | None, above: str | None, limit: int
) -> Sequence[Row[Any]]:
    """By name, those above `above`."""
    query = select(model)
    if name_contains:
        query = query.where(model.c.name.icontains(name_contains, autoescape=True))
    if above is not None:
        query = query.where(model.c.name > above)
    return (await connection.execute(query.order_by(model.c.name).limit(limit))).all()


async def load_version(connection: AsyncConnection, model_id: UUID, number: int | None) -> Row[Any] | None:
    """By its number; None names the newest."""
    query = select(model_version).where(model_version.c.model == model_id)
    if number is not None:
        query = query.where(model_version.c.number == number)
    return (await connection.execute(query.order_by(model_version.c.number.desc()).limit(1))).one_or_none()


async def load_version_by_id(connection: AsyncConnection, version_id: UUID) -> Row[Any] | None:
    return (
        await connection.execute(select(model_version).where(model_version.c.id == version_id))
    ).one_or_none()


async def load_versions(
    connection: AsyncConnection, model_id: UUID, below: int | None, limit: int
) -> Sequence[Row[Any]]:
    """Newest first, numbers below `below`."""
    query = select(model_version).where(model_version.c.model == model_id)
    if below is not None:
        query = query.where(model_version.c.number < below)
    return (await connection.execute(query.order_by(model_version.c.number.desc()).limit(limit))).all()


async def load_instances(connection: AsyncConnection, below: UUID | None, limit: int) -> Sequence[Row[Any]]:
    """Newest first: ids rise with time."""
    query = select(instance)
    if below is not None:
        query = query.where(instance.c.id < below)
    return (await connection.execute(query.order_by(instance.c.id.desc()).limit(limit))).all()


async def load_code(connection: AsyncConnection, sha256: str) -> Row[Any] | None:
    return (await connection.execute(select(code).where(code.c.sha256 == sha256))).one_or_none()


async def save_code(
    connection: AsyncConnection, tenant: UUID, sha256: str, size_bytes: int, now: Any
) -> None:
    statement = upsert(code).values(tenant=tenant, sha256=sha256, size_bytes=size_bytes, created_at=now)
    await connection.execute(statement.on_conflict_do_nothing())


async def forget_code(connection: AsyncConnection, sha256: str) -> None:
    """The registry no longer has it."""
    await connection.execute(code.delete().where(code.c.sha256 == sha256))
