"""Accounts of people and programs, and their groups (`team`, as `group` is a word of SQL). Neighbour: `roles`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.access_tables import account, membership, team


async def insert_account(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """False where there is one of that name."""
    statement = upsert(account).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_account(connection: AsyncConnection, reference: UUID | str) -> Row[Any] | None:
    """By id or name, with the names of its groups."""
    column = account.c.id if isinstance(reference, UUID) else account.c.name
    return (await connection.execute(_accounts().where(column == reference))).one_or_none()


async def load_accounts(
    connection: AsyncConnection, group: UUID | None, above: str | None, limit: int
) -> Sequence[Row[Any]]:
    """By name; of one group, or all."""
    query = _accounts()
    if group is not None:
        members = select(membership.c.account).where(membership.c.team == group)
        query = query.where(account.c.id.in_(members))
    if above is not None:
        query = query.where(account.c.name > above)
    return (await connection.execute(query.order_by(account.c.name).limit(limit))).all()


async def save_account(connection: AsyncConnection, account_id: UUID, values: Mapping[str, Any]) -> None:
    await connection.execute(update(account).where(account.c.id == account_id).values(**values))


async def insert_team(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """False where there is one of that name."""
    statement = upsert(team).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_team(connection: AsyncConnection, reference: UUID | str) -> Row[Any] | None:
    """By id or name, with the number of its members."""
    column = team.c.id if isinstance(reference, UUID) else team.c.name
    return (await connection.execute(_teams().where(column == reference))).one_or_none()


async def load_teams(connection: AsyncConnection, above: str | None, limit: int) -> Sequence[Row[Any]]:
    """By name."""
    query = _teams()
    if above is not None:
        query = query.where(team.c.name > above)
    return (await connection.execute(query.order_by(team.c.name).limit(limit))).all()


async def delete_team(connection: AsyncConnection, team_id: UUID) -> None:
    """With its memberships."""
    await connection.execute(delete(membership).where(membership.c.team == team_id))
    await connection.execute(delete(team).where(team.c.id == team_id))


async def add_member(connection: AsyncConnection, tenant: UUID, team_id: UUID, account_id: UUID) -> None:
    """The same again changes nothing."""
    statement = upsert(membership).values(tenant=tenant, team=team_id, account=account_id)
    await connection.execute(statement.on_conflict_do_nothing())


async def remove_member(connection: AsyncConnection, team_id: UUID, account_id: UUID) -> None:
    mine = (membership.c.team == team_id) & (membership.c.account == account_id)
    await connection.execute(delete(membership).where(mine))


def _accounts() -> Any:
    groups = (
        select(func.array_agg(aggregate_order_by(team.c.name, team.c.name)))
        .join(membership, membership.c.team == team.c.id)
        .where(membership.c.account == account.c.id)
        .scalar_subquery()
    )
    return select(account, groups.label("groups"))


def _teams() -> Any:
    members = select(func.count()).select_from(membership).where(membership.c.team == team.c.id)
    return select(team, members.scalar_subquery().label("members"))
