"""Code and instances: what other services say, as far as lists and names need it here."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import code, instance
from shared.messages.instances import InstanceChanged


async def apply_instance(connection: AsyncConnection, changed: InstanceChanged) -> bool:
    """Takes over a newer version; False for one already known."""
    values = {"version": changed.version, "changed": changed.model_dump(mode="json")}
    statement = (
        upsert(instance)
        .values(id=changed.instance_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=instance.c.version < changed.version)
    )
    return (await connection.execute(statement)).rowcount > 0


async def load_instances(connection: AsyncConnection, below: UUID | None, limit: int) -> Sequence[Row[Any]]:
    """Newest first: ids rise with time."""
    query = select(instance)
    if below is not None:
        query = query.where(instance.c.id < below)
    return (await connection.execute(query.order_by(instance.c.id.desc()).limit(limit))).all()


async def load_instance(connection: AsyncConnection, id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(instance).where(instance.c.id == id))).one_or_none()


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
