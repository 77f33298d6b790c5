"""Tenants and tokens. The look-up of a token comes before its tenant is known: the one read under the system role."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import tenant, token
from shared.ids import TenantId


async def find_token(connection: AsyncConnection, hashed: bytes) -> Row[Any] | None:
    """The token with this hash and its tenant's name."""
    query = select(token, tenant.c.name.label("tenant_name")).join(tenant, tenant.c.id == token.c.tenant)
    return (await connection.execute(query.where(token.c.hash == hashed))).one_or_none()


async def ensure_tenant(connection: AsyncConnection, tenant_id: UUID, name: str, now: datetime) -> None:
    statement = upsert(tenant).values(id=tenant_id, name=name, created_at=now).on_conflict_do_nothing()
    await connection.execute(statement)


async def load_tenant_names(
    connection: AsyncConnection, tenants: Collection[TenantId]
) -> dict[TenantId, str]:
    query = select(tenant.c.id, tenant.c.name).where(tenant.c.id.in_(tenants))
    return {TenantId(row.id): row.name for row in await connection.execute(query)}


async def find_tenant(connection: AsyncConnection, name: str) -> TenantId | None:
    found = (await connection.execute(select(tenant.c.id).where(tenant.c.name == name))).scalar_one_or_none()
    return TenantId(found) if found else None


async def ensure_token(connection: AsyncConnection, values: dict[str, Any]) -> None:
    await connection.execute(upsert(token).values(**values).on_conflict_do_nothing())


async def insert_token(connection: AsyncConnection, values: dict[str, Any]) -> None:
    await connection.execute(insert(token).values(**values))


async def load_token(connection: AsyncConnection, token_id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(token).where(token.c.id == token_id))).one_or_none()


async def load_tokens(connection: AsyncConnection, below: UUID | None, limit: int) -> Sequence[Row[Any]]:
    """Newest first: ids rise with time."""
    query = select(token)
    if below is not None:
        query = query.where(token.c.id < below)
    return (await connection.execute(query.order_by(token.c.id.desc()).limit(limit))).all()


async def revoke_token(connection: AsyncConnection, token_id: UUID, now: datetime) -> None:
    still = (token.c.id == token_id) & token.c.revoked_at.is_(None)
    await connection.execute(update(token).where(still).values(revoked_at=now))
