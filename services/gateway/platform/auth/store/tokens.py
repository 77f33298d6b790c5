"""Stores tenants and tokens. The look-up of a token uses the system role, as the tenant is not known before it."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, case, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.store.tables import account, tenant, token
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part
from shared.ids import TenantId

TOKENS = Cells(
    token, {"role": case((token.c.account.is_(None), token.c.role), else_="viewer"), "user": account.c.name}
)
"""Columns that lists of tokens filter and sort by."""
TENANTS = Cells(tenant, {})
"""Columns that lists of tenants filter and sort by."""


async def find_token(connection: AsyncConnection, hashed: bytes) -> Row[Any] | None:
    """Load the token with this hash, with its tenant's name and its account."""
    return (await connection.execute(_found().where(token.c.hash == hashed))).one_or_none()


async def find_token_by_id(connection: AsyncConnection, token_id: UUID) -> Row[Any] | None:
    """Load a token by id, with its tenant's name and its account."""
    return (await connection.execute(_found().where(token.c.id == token_id))).one_or_none()


async def ensure_tenant(connection: AsyncConnection, tenant_id: UUID, name: str, now: datetime) -> bool:
    """Insert a tenant. Return False if the id or the name is taken."""
    statement = upsert(tenant).values(id=tenant_id, name=name, created_at=now).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_tenants(connection: AsyncConnection, wanted: ListQuery) -> RowPage:
    query = select(tenant).where(tenant.c.deleting.is_(False))
    return await load_part(connection, query, TENANTS, wanted)


async def load_tenant_names(
    connection: AsyncConnection, tenants: Collection[TenantId]
) -> dict[TenantId, str]:
    query = select(tenant.c.id, tenant.c.name).where(tenant.c.id.in_(tenants))
    return {TenantId(row.id): row.name for row in await connection.execute(query)}


async def load_tenant(connection: AsyncConnection, name: str) -> Row[Any] | None:
    """Load a tenant by name; None if it does not exist or is being deleted."""
    query = select(tenant).where(tenant.c.name == name, tenant.c.deleting.is_(False))
    return (await connection.execute(query)).one_or_none()


async def find_tenant(connection: AsyncConnection, name: str) -> TenantId | None:
    found = (await connection.execute(select(tenant.c.id).where(tenant.c.name == name))).scalar_one_or_none()
    return TenantId(found) if found else None


async def ensure_token(connection: AsyncConnection, values: dict[str, Any]) -> None:
    """Insert a token, or assign an existing one to the given account."""
    statement = upsert(token).values(**values)
    whose = statement.on_conflict_do_update(index_elements=["id"], set_={"account": values["account"]})
    await connection.execute(whose)


async def insert_token(connection: AsyncConnection, values: dict[str, Any]) -> None:
    await connection.execute(insert(token).values(**values))


async def load_token(connection: AsyncConnection, token_id: UUID) -> Row[Any] | None:
    return (await connection.execute(_tokens().where(token.c.id == token_id))).one_or_none()


async def load_tokens(connection: AsyncConnection, wanted: ListQuery) -> RowPage:
    return await load_part(connection, _tokens(), TOKENS, wanted)


async def revoke_token(connection: AsyncConnection, token_id: UUID, now: datetime) -> None:
    still = (token.c.id == token_id) & token.c.revoked_at.is_(None)
    await connection.execute(update(token).where(still).values(revoked_at=now))


def _found() -> Any:
    """Return the query for tokens with their tenants' names, which only the system role may read."""
    return (
        select(
            token,
            tenant.c.name.label("tenant_name"),
            account.c.name.label("account_name"),
            account.c.disabled_at,
        )
        .join(tenant, tenant.c.id == token.c.tenant)
        .outerjoin(account, account.c.id == token.c.account)
    )


def _tokens() -> Any:
    """Return the query for tokens with the names of their users."""
    return select(token, account.c.name.label("user")).outerjoin(account, account.c.id == token.c.account)
