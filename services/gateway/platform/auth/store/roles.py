"""Stores custom roles and role bindings."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.grants import Binding, Scope
from services.gateway.platform.auth.permissions import ROLES, parse_permissions
from services.gateway.platform.auth.store.tables import account, account_group, membership, role, role_binding
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

BINDINGS = Cells(role_binding, {"user": account.c.name, "group": account_group.c.name})
"""Columns that lists of bindings filter and sort by."""


async def load_account_bindings(connection: AsyncConnection, tenant: UUID, account_id: UUID) -> list[Binding]:
    """Load the bindings of an account and of its groups."""
    groups = select(membership.c.account_group).where(membership.c.account == account_id)
    return await _load_given(
        connection,
        tenant,
        or_(role_binding.c.account == account_id, role_binding.c.account_group.in_(groups)),
    )


async def load_group_bindings(connection: AsyncConnection, tenant: UUID, group_id: UUID) -> list[Binding]:
    """Load the bindings of a group."""
    return await _load_given(connection, tenant, role_binding.c.account_group == group_id)


async def load_one_binding(connection: AsyncConnection, tenant: UUID, binding_id: UUID) -> list[Binding]:
    """Load one binding with its role's permissions."""
    return await _load_given(connection, tenant, role_binding.c.id == binding_id)


async def lock_access(connection: AsyncConnection, tenant: UUID) -> None:
    """Lock the tenant's access settings until the transaction ends, so that changes apply one after another."""
    await connection.execute(
        select(func.pg_advisory_xact_lock(func.hashtextextended(f"muster:access:{tenant}", 0)))
    )


async def find_role(connection: AsyncConnection, name: str) -> Row[Any] | None:
    return (await connection.execute(select(role).where(role.c.name == name))).one_or_none()


async def load_roles(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Load the tenant's custom roles, by name."""
    return (await connection.execute(select(role).order_by(role.c.name))).all()


async def insert_role(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Insert a custom role. Return False if the name is taken."""
    statement = upsert(role).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def save_role(connection: AsyncConnection, name: str, values: Mapping[str, Any]) -> None:
    await connection.execute(update(role).where(role.c.name == name).values(**values))


async def delete_role(connection: AsyncConnection, name: str) -> None:
    await connection.execute(delete(role).where(role.c.name == name))


async def count_bindings(connection: AsyncConnection, name: str) -> int:
    """Count the bindings of a role."""
    query = select(func.count()).select_from(role_binding).where(role_binding.c.role == name)
    return (await connection.execute(query)).scalar_one()


async def insert_binding(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a binding, unless it exists."""
    await connection.execute(upsert(role_binding).values(**values).on_conflict_do_nothing())


async def load_binding(connection: AsyncConnection, binding_id: UUID) -> Row[Any] | None:
    query = _bindings().where(role_binding.c.id == binding_id)
    return (await connection.execute(query)).one_or_none()


async def load_bindings(connection: AsyncConnection, named: Mapping[str, str], wanted: ListQuery) -> RowPage:
    """Load a page of bindings, filtered by the role, user, group and workspace in `named`."""
    query = _bindings()
    for name, value in named.items():
        query = query.where(BINDINGS.named(name) == value)
    return await load_part(connection, query, BINDINGS, wanted)


async def delete_binding(connection: AsyncConnection, binding_id: UUID) -> None:
    await connection.execute(delete(role_binding).where(role_binding.c.id == binding_id))


async def delete_bindings_of_group(connection: AsyncConnection, group_id: UUID) -> None:
    await connection.execute(delete(role_binding).where(role_binding.c.account_group == group_id))


def _bindings() -> Any:
    """Return the query for bindings with the names of their users and groups."""
    named = select(role_binding, account.c.name.label("user"), account_group.c.name.label("group"))
    return named.outerjoin(account, account.c.id == role_binding.c.account).outerjoin(
        account_group, account_group.c.id == role_binding.c.account_group
    )


async def _load_given(connection: AsyncConnection, tenant: UUID, whose: Any) -> list[Binding]:
    """Load bindings in a fixed order, as callers are compared. A deleted role has no permissions."""
    query = (
        select(role_binding.c.role, role_binding.c.workspace, role_binding.c.project, role.c.permissions)
        .outerjoin(role, (role.c.tenant == role_binding.c.tenant) & (role.c.name == role_binding.c.role))
        .where(role_binding.c.tenant == tenant, whose)
        .order_by(role_binding.c.id)
    )
    rows = await connection.execute(query)
    return [
        Binding(
            row.role,
            ROLES.get(row.role) or parse_permissions(row.permissions or []),
            Scope(row.workspace, row.project),
        )
        for row in rows
    ]
