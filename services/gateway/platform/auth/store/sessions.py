"""Stores sessions, passwords and linked identities. The look-ups of `authentication` run before the tenant is known."""

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
"""How long ended sessions are kept."""


async def find_session(connection: AsyncConnection, hashed: bytes) -> Row[Any] | None:
    """Load the session with this hash, with its tenant's name, its account and its token."""
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
    """Load the account that is linked to a provider's subject, in the tenant of the transaction."""
    query = select(account).join(identity, identity.c.account == account.c.id)
    known = query.where(*_known_as(issuer, subject))
    return (await connection.execute(known)).one_or_none()


async def find_account_in(
    connection: AsyncConnection, tenant_name: str, issuer: str, subject: str
) -> Row[Any] | None:
    """Load the account that is linked to a provider's subject, in the named tenant."""
    query = _accounts().join(identity, identity.c.account == account.c.id)
    known = query.where(tenant.c.name == tenant_name, *_known_as(issuer, subject))
    return (await connection.execute(known)).one_or_none()


async def find_account_named(connection: AsyncConnection, tenant_name: str, name: str) -> Row[Any] | None:
    query = _accounts().where(tenant.c.name == tenant_name, account.c.name == name)
    return (await connection.execute(query)).one_or_none()


async def has_session_from(connection: AsyncConnection, tenant_name: str, name: str, address: str) -> bool:
    """Whether the named account has, or within the last 30 days had, a session that began at this address."""
    query = _accounts().join(session, session.c.account == account.c.id)
    known = query.where(tenant.c.name == tenant_name, account.c.name == name, session.c.address == address)
    return (await connection.execute(known.limit(1))).first() is not None


async def insert_session(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    await connection.execute(upsert(session).values(**values))


async def touch_session(connection: AsyncConnection, session_id: UUID, now: datetime) -> None:
    """Set the time of a session's last use."""
    await connection.execute(update(session).where(session.c.id == session_id).values(used_at=now))


async def load_sessions(
    connection: AsyncConnection, whose: UUID, asking: UUID | None, now: datetime, wanted: ListQuery
) -> RowPage:
    """Load an account's active sessions. `asking`: the session of the request, if it has one."""
    query = select(session).where(session.c.account == whose, *_counting(now))
    return await load_part(connection, query, sessions_seen_by(asking), wanted)


def sessions_seen_by(asking: UUID | None) -> Cells:
    """Return the columns that lists of sessions filter and sort by."""
    return Cells(session, {"current": session.c.id == asking})


async def end_session(
    connection: AsyncConnection, whose: UUID | None, session_id: UUID, now: datetime
) -> Row[Any] | None:
    """End a session and return it; None if the account (None: no account) has no active session with that id."""
    mine = session.c.account.is_not_distinct_from(whose) & (session.c.id == session_id)
    statement = update(session).where(mine, *_counting(now)).values(ended_at=now).returning(session)
    row: Row[Any] | None = (await connection.execute(statement)).one_or_none()
    return row


async def end_sessions(
    connection: AsyncConnection, whose: UUID, now: datetime, but: UUID | None = None
) -> int:
    """End an account's sessions except `but`. Return how many."""
    statement = update(session).where(session.c.account == whose, *_counting(now))
    if but is not None:
        statement = statement.where(session.c.id != but)
    return (await connection.execute(statement.values(ended_at=now))).rowcount


async def load_password(connection: AsyncConnection, whose: UUID) -> str | None:
    """Load the hash of an account's password; None without a password."""
    query = select(password.c.hash).where(password.c.account == whose)
    return (await connection.execute(query)).scalar_one_or_none()


async def save_password(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a password or replace the previous one."""
    statement = upsert(password).values(**values)
    fresh = {"hash": values["hash"], "changed_at": values["changed_at"]}
    await connection.execute(statement.on_conflict_do_update(index_elements=["account"], set_=fresh))


async def insert_identity(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Link a subject to an account. Return False if the subject is linked already."""
    statement = upsert(identity).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def load_identities(connection: AsyncConnection, whose: UUID) -> Sequence[Row[Any]]:
    """Load the identities linked to an account, oldest first."""
    query = select(identity).where(identity.c.account == whose).order_by(identity.c.id)
    return (await connection.execute(query)).all()


async def delete_identity(connection: AsyncConnection, whose: UUID, identity_id: UUID) -> Row[Any] | None:
    mine = (identity.c.account == whose) & (identity.c.id == identity_id)
    return (await connection.execute(delete(identity).where(mine).returning(identity))).one_or_none()


async def sweep(connection: AsyncConnection, now: datetime) -> None:
    """Delete old ended sessions of all tenants."""
    past = or_(session.c.expires_at < now - _KEPT, session.c.ended_at < now - _KEPT)
    await connection.execute(delete(session).where(past))


def _known_as(issuer: str, subject: str) -> tuple[Any, ...]:
    return identity.c.issuer == issuer, identity.c.subject == subject


def _accounts() -> Any:
    """Return the query for accounts with their tenants' names, which only the system role may read."""
    columns = (account, tenant.c.name.label("tenant_name"))
    return select(*columns).join(tenant, tenant.c.id == account.c.tenant)


def _counting(now: datetime) -> tuple[Any, ...]:
    idle = session.c.used_at + func.make_interval(0, 0, 0, 0, 0, 0, session.c.idle_s) > now
    return session.c.ended_at.is_(None), session.c.expires_at > now, idle
