"""Sessions, passwords and identities. The look-ups of `authentication` come before a tenant is known."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.store.session_tables import identity, password, session
from services.gateway.platform.auth.store.tables import account, tenant, token
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

_KEPT = timedelta(days=30)
"""Ended sessions stay so long to be looked at."""


async def find_session(connection: AsyncConnection, hashed: bytes) -> Row[Any] | None:
    """The session with this hash, with its tenant's name and whose it is."""
    query = (
        select(
            session,
            tenant.c.name.label("tenant_name"),
            account.c.name.label("account_name"),
            account.c.disabled_at,
            token.c.name.label("token_name"),
            token.c.role.label("token_role"),
            token.c.scope.label("token_scope"),
            token.c.revoked_at.label("token_revoked_at"),
        )
        .join(tenant, tenant.c.id == session.c.tenant)
        .outerjoin(account, account.c.id == session.c.account)
        .outerjoin(token, token.c.id == session.c.token)
    )
    return (await connection.execute(query.where(session.c.hash == hashed))).one_or_none()


async def find_account_of(connection: AsyncConnection, issuer: str, subject: str) -> Row[Any] | None:
    """The account that a provider knows by this subject, in the tenant of the transaction."""
    query = select(account).join(identity, identity.c.account == account.c.id)
    known = query.where(*_known_as(issuer, subject))
    return (await connection.execute(known)).one_or_none()


async def find_account_in(
    connection: AsyncConnection, tenant_name: str, issuer: str, subject: str
) -> Row[Any] | None:
    """The same, in the tenant of this name."""
    query = _accounts().join(identity, identity.c.account == account.c.id)
    known = query.where(tenant.c.name == tenant_name, *_known_as(issuer, subject))
    return (await connection.execute(known)).one_or_none()


async def find_account_named(connection: AsyncConnection, tenant_name: str, name: str) -> Row[Any] | None:
    query = _accounts().where(tenant.c.name == tenant_name, account.c.name == name)
    return (await connection.execute(query)).one_or_none()


async def insert_session(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    await connection.execute(upsert(session).values(**values))


async def touch_session(connection: AsyncConnection, session_id: UUID, now: datetime) -> None:
    """It was used just now."""
    await connection.execute(update(session).where(session.c.id == session_id).values(used_at=now))


async def load_sessions(
    connection: AsyncConnection, whose: UUID, asking: UUID | None, now: datetime, wanted: ListQuery
) -> RowPage:
    """Those of an account that count; `asking`: the one that asks, if it is one."""
    query = select(session).where(session.c.account == whose, *_counting(now))
    return await load_part(connection, query, sessions_seen_by(asking), wanted)


def sessions_seen_by(asking: UUID | None) -> Cells:
    """What of a session a list can go by."""
    return Cells(session, {"current": session.c.id == asking})


async def end_session(
    connection: AsyncConnection, whose: UUID | None, session_id: UUID, now: datetime
) -> Row[Any] | None:
    """The session, ended; None where the account (or, without one, nobody) has none of that id that counts."""
    mine = session.c.account.is_not_distinct_from(whose) & (session.c.id == session_id)
    statement = update(session).where(mine, *_counting(now)).values(ended_at=now).returning(session)
    row: Row[Any] | None = (await connection.execute(statement)).one_or_none()
    return row


async def end_sessions(
    connection: AsyncConnection, whose: UUID, now: datetime, but: UUID | None = None
) -> int:
    """Ends an account's sessions, all but one of them where one is given; returns how many."""
    statement = update(session).where(session.c.account == whose, *_counting(now))
    if but is not None:
        statement = statement.where(session.c.id != but)
    return (await connection.execute(statement.values(ended_at=now))).rowcount


async def load_password(connection: AsyncConnection, whose: UUID) -> str | None:
    """Its hash."""
    query = select(password.c.hash).where(password.c.account == whose)
    return (await connection.execute(query)).scalar_one_or_none()


async def save_password(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """In place of the one before."""
    statement = upsert(password).values(**values)
    fresh = {"hash": values["hash"], "changed_at": values["changed_at"]}
    await connection.execute(statement.on_conflict_do_update(index_elements=["account"], set_=fresh))


async def insert_identity(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """False where the provider's subject is an account's already."""
    statement = upsert(identity).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_identities(connection: AsyncConnection, whose: UUID) -> Sequence[Row[Any]]:
    """By id: oldest first."""
    query = select(identity).where(identity.c.account == whose).order_by(identity.c.id)
    return (await connection.execute(query)).all()


async def delete_identity(connection: AsyncConnection, whose: UUID, identity_id: UUID) -> Row[Any] | None:
    mine = (identity.c.account == whose) & (identity.c.id == identity_id)
    return (await connection.execute(delete(identity).where(mine).returning(identity))).one_or_none()


async def sweep(connection: AsyncConnection, now: datetime) -> None:
    """Deletes sessions that are long over, of all tenants."""
    past = or_(session.c.expires_at < now - _KEPT, session.c.ended_at < now - _KEPT)
    await connection.execute(delete(session).where(past))


def _known_as(issuer: str, subject: str) -> tuple[Any, ...]:
    return identity.c.issuer == issuer, identity.c.subject == subject


def _accounts() -> Any:
    """With their tenants' names, which the system role alone reads."""
    columns = (account, tenant.c.name.label("tenant_name"))
    return select(*columns).join(tenant, tenant.c.id == account.c.tenant)


def _counting(now: datetime) -> tuple[Any, ...]:
    idle = session.c.used_at + func.make_interval(0, 0, 0, 0, 0, 0, session.c.idle_s) > now
    return session.c.ended_at.is_(None), session.c.expires_at > now, idle
