"""Stores idempotency keys with their answers, and refused commands."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Row, and_, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import JSON, insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.commands.tables import idempotency, operation_refusal
from shared.messages.experiments import OperationRefused


async def save_refusal(
    connection: AsyncConnection, tenant: UUID, now: datetime, refused: OperationRefused
) -> None:
    statement = upsert(operation_refusal).values(
        tenant=tenant,
        id=refused.operation_id,
        created_at=now,
        code=refused.code,
        message=refused.message,
        hint=refused.hint,
    )
    await connection.execute(statement.on_conflict_do_nothing())


async def load_refusal(connection: AsyncConnection, operation_id: UUID) -> Row[Any] | None:
    return (
        await connection.execute(select(operation_refusal).where(operation_refusal.c.id == operation_id))
    ).one_or_none()


async def load_refusals(connection: AsyncConnection, operations: Collection[UUID]) -> dict[UUID, Row[Any]]:
    """Load the refusals among these operations, by operation id."""
    rows = await connection.execute(select(operation_refusal).where(operation_refusal.c.id.in_(operations)))
    return {row.id: row for row in rows}


async def claim_key(connection: AsyncConnection, values: dict[str, Any]) -> Row[Any] | None:
    """Claim the key for this request, after waiting for a concurrent claim. Return the earlier claim if the key is taken."""
    claim = upsert(idempotency).values(**values).on_conflict_do_nothing().returning(idempotency.c.key)
    if (await connection.execute(claim)).one_or_none() is not None:
        return None
    mine = _kept(values["tenant"], values["operation"], values["key"])
    return (await connection.execute(select(idempotency).where(mine))).one()


async def save_answer(
    connection: AsyncConnection, tenant: UUID, name: str, key: str, response: JsonValue
) -> JsonValue:
    """Store an answer unless there is one already. Return the stored answer."""
    first = func.coalesce(idempotency.c.response, literal(response, JSON))
    statement = update(idempotency).where(_kept(tenant, name, key)).values(response=first)
    kept: JsonValue = (await connection.execute(statement.returning(idempotency.c.response))).scalar_one()
    return kept


async def drop_key(
    connection: AsyncConnection, tenant: UUID, name: str, key: str, operation_id: UUID
) -> None:
    """Delete the claim of a refused operation, unless another operation has the key already."""
    here = _kept(tenant, name, key) & (idempotency.c.entity == operation_id)
    await connection.execute(delete(idempotency).where(here))


def _kept(tenant: UUID, name: str, key: str) -> ColumnElement[bool]:
    here = idempotency.c
    return and_(here.tenant == tenant, here.operation == name, here.key == key)


async def sweep(connection: AsyncConnection, now: datetime, keys_kept: timedelta) -> None:
    """Delete expired keys and refusals of all tenants."""
    await connection.execute(delete(idempotency).where(idempotency.c.created_at < now - keys_kept))
    await connection.execute(
        delete(operation_refusal).where(operation_refusal.c.created_at < now - keys_kept)
    )
