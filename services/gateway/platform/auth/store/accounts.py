"""Stores accounts and groups. The table of groups is `account_group`, as `group` is an SQL keyword."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Text, delete, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.store.tables import account, account_group, membership
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

_GROUPS = func.array(
    select(account_group.c.name)
    .join(membership, membership.c.account_group == account_group.c.id)
    .where(membership.c.account == account.c.id)
    .order_by(account_group.c.name)
    .correlate(account)
    .scalar_subquery(),
    type_=ARRAY(Text),
)
_MEMBERS = (
    select(func.count())
    .select_from(membership)
    .where(membership.c.account_group == account_group.c.id)
    .correlate(account_group)
    .scalar_subquery()
)
ACCOUNTS = Cells(account, {"groups": _GROUPS})
GROUPS = Cells(account_group, {"members": _MEMBERS})
"""Columns that lists of accounts and groups filter and sort by."""


async def insert_account(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Insert an account. Return False if the name is taken."""
    statement = upsert(account).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_account(connection: AsyncConnection, reference: UUID | str) -> Row[Any] | None:
    """Load an account by id or name, with the names of its groups."""
    column = account.c.id if isinstance(reference, UUID) else account.c.name
    return (await connection.execute(_accounts().where(column == reference))).one_or_none()


async def load_accounts(connection: AsyncConnection, group: UUID | None, wanted: ListQuery) -> RowPage:
    """Load a page of accounts, of one group or all."""
    query = _accounts()
    if group is not None:
        members = select(membership.c.account).where(membership.c.account_group == group)
        query = query.where(account.c.id.in_(members))
    return await load_part(connection, query, ACCOUNTS, wanted)


async def save_account(connection: AsyncConnection, account_id: UUID, values: Mapping[str, Any]) -> None:
    await connection.execute(update(account).where(account.c.id == account_id).values(**values))


async def insert_group(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Insert a group. Return False if the name is taken."""
    statement = upsert(account_group).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_group(connection: AsyncConnection, reference: UUID | str) -> Row[Any] | None:
    """Load a group by id or name, with the number of its members."""
    column = account_group.c.id if isinstance(reference, UUID) else account_group.c.name
    return (await connection.execute(_groups().where(column == reference))).one_or_none()


async def load_groups(connection: AsyncConnection, wanted: ListQuery) -> RowPage:
    return await load_part(connection, _groups(), GROUPS, wanted)


async def delete_group(connection: AsyncConnection, group_id: UUID) -> None:
    """Delete a group with its memberships."""
    await connection.execute(delete(membership).where(membership.c.account_group == group_id))
    await connection.execute(delete(account_group).where(account_group.c.id == group_id))


async def add_member(connection: AsyncConnection, tenant: UUID, group_id: UUID, account_id: UUID) -> None:
    """Add an account to a group, unless it is a member already."""
    statement = upsert(membership).values(tenant=tenant, account_group=group_id, account=account_id)
    await connection.execute(statement.on_conflict_do_nothing())


async def remove_member(connection: AsyncConnection, group_id: UUID, account_id: UUID) -> None:
    mine = (membership.c.account_group == group_id) & (membership.c.account == account_id)
    await connection.execute(delete(membership).where(mine))


def _accounts() -> Any:
    return select(account, _GROUPS.label("groups"))


def _groups() -> Any:
    return select(account_group, _MEMBERS.label("members"))
