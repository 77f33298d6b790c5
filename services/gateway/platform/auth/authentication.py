"""Authenticates callers by access token, session, provider token or client certificate. Results are cached for two seconds; every failure has the same answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Rejected
from services.gateway.platform.auth.grants import AssignedRole, Binding, combine_bindings
from services.gateway.platform.auth.permissions import ROLES, Permissions, parse_permissions
from services.gateway.platform.auth.refusals import Unauthenticated
from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.auth.sign_in.sign_in_file import CertificateSection
from services.gateway.platform.auth.store import roles, sessions as sign_in, tokens
from services.gateway.platform.auth.tokens import hash_token, is_session, is_token
from services.gateway.platform.call_context import Caller
from shared.auth.jwts import NotValid, is_jwt
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import TenantId, derived_id
from shared.runtime.cache import Cache

CACHED_S = 2.0
"""Revocations and changes of roles take effect on all replicas within this time."""
_MAX_CALLERS = 4096
_TOUCHED_EVERY = timedelta(minutes=1)
"""Minimum interval between writes of a session's last use."""
_TOKEN_NAMESPACE = UUID("6b5f2c0e-6d6b-4c37-9d0c-6f1f6c3f5b11")
"""Namespace for the token ids of callers who use a provider's token or a certificate instead of an access token."""
_log = structlog.get_logger()
_BEARER = "Bearer "


def read_bearer(headers: Sequence[str]) -> str | None:
    """Return the bearer token of the Authorization headers; None without a header or for another scheme.

    Raises:
        Rejected: there is more than one header. A proxy may have checked another one than the gateway would use.
    """
    if len(headers) > 1:
        raise Rejected(
            "ambiguous_credentials",
            f"the request has {len(headers)} Authorization headers; only one is allowed",
            "Authorization",
            "send one `Authorization: Bearer …` header",
        )
    if not headers or not headers[0].startswith(_BEARER):
        return None
    return headers[0][len(_BEARER) :].strip() or None


@dataclass(frozen=True, slots=True)
class CallerCredentials:
    """The credentials of a request."""

    bearer: str | None = None
    certificates: tuple[str, ...] = ()
    """URIs of the connection's client certificate. A bearer token takes precedence."""


class Authenticator:
    """Finds the caller of a request. The look-ups use the system role, as they determine the tenant."""

    def __init__(
        self,
        database: Database,
        pepper: bytes,
        clock: Clock,
        providers: Providers,
        certificates: Mapping[str, CertificateSection],
    ) -> None:
        self._database = database
        self._pepper = pepper
        self._clock = clock
        self._providers = providers
        self._certificates = certificates
        self._callers = Cache[bytes, Caller]("callers", _MAX_CALLERS, CACHED_S, clock)

    async def caller_of(self, credentials: CallerCredentials) -> Caller:
        """Return the caller. Raises Unauthenticated for missing, unknown, expired or revoked credentials."""
        text = credentials.bearer
        if text is None:
            text = next((f"uri:{uri}" for uri in credentials.certificates if uri in self._certificates), None)
        if text is None:
            raise Unauthenticated("no_token")
        hashed = hash_token(self._pepper, text)  # The cache must not contain tokens.
        caller = await self._callers.load(hashed, partial(self._look_up, credentials.bearer, text, hashed))
        if caller.expires_at is not None and caller.expires_at <= self._clock.now():
            raise Unauthenticated("token_expired", caller.tenant, caller.token_id, caller.user, caller.name)
        return caller

    async def _look_up(self, bearer: str | None, text: str, hashed: bytes) -> Caller:
        if bearer is None:
            return await self._of_certificate(text.removeprefix("uri:"))
        if is_token(bearer):
            return await self._of_token(hashed)
        if is_session(bearer):
            return await self._of_session(hashed)
        if is_jwt(bearer):
            return await self._of_provider(bearer, hashed)
        raise Unauthenticated("no_such_token")

    async def _of_token(self, hashed: bytes) -> Caller:
        async with self._database.system() as connection:
            row = await tokens.find_token(connection, hashed)
            if row is None:
                raise Unauthenticated("no_such_token")
            if row.revoked_at is not None or row.disabled_at is not None:
                why = "token_revoked" if row.revoked_at is not None else "user_disabled"
                name = row.account_name or row.name
                raise Unauthenticated(why, TenantId(row.tenant), row.id, row.account, name)
            given = await _given(connection, row.tenant, row.account, row.role)
        return Caller(
            tenant=TenantId(row.tenant),
            tenant_name=row.tenant_name,
            token_id=row.id,
            name=row.account_name or row.name,
            grants=combine_bindings(given, _scope(row.scope)),
            roles=_held(given),
            user=row.account,
            expires_at=row.expires_at,
        )

    async def _of_session(self, hashed: bytes) -> Caller:
        now = self._clock.now()
        async with self._database.system() as connection:
            row = await sign_in.find_session(connection, hashed)
            if row is None:
                raise Unauthenticated("no_such_token")
            why = _why_not(row, now)
            if why is not None:
                tenant = TenantId(row.tenant)
                name = row.account_name or row.token_name or ""
                raise Unauthenticated(why, tenant, row.id, row.account, name)
            if row.used_at + _TOUCHED_EVERY <= now:
                await sign_in.touch_session(connection, row.id, now)
            given = await _given(connection, row.tenant, row.account, row.token_role)
        return Caller(
            tenant=TenantId(row.tenant),
            tenant_name=row.tenant_name,
            # A session of a token without a user acts as the token, so that views and operations persist across sign-ins.
            token_id=row.id if row.account is not None else row.token,
            name=row.account_name or row.token_name,
            grants=combine_bindings(given, _scope(row.token_scope)),
            roles=_held(given),
            user=row.account,
            expires_at=row.expires_at,
            session=row.id,
        )

    async def _of_provider(self, bearer: str, hashed: bytes) -> Caller:
        """Authenticate a program by a token that a provider of its tenant signed."""
        try:
            section, claims = await self._providers.verify_program(bearer)
        except NotValid as error:
            _log.info("provider token refused", reason=str(error))
            raise Unauthenticated("bad_token") from None
        async with self._database.system() as connection:
            row = await sign_in.find_account_in(connection, section.tenant, section.issuer, claims["sub"])
            return await self._of_account(connection, row, hashed, _moment(claims["exp"]))

    async def _of_certificate(self, uri: str) -> Caller:
        whose = self._certificates[uri]
        async with self._database.system() as connection:
            row = await sign_in.find_account_named(connection, whose.tenant, whose.user)
            return await self._of_account(connection, row, uri.encode(), None)

    async def _of_account(
        self, connection: AsyncConnection, row: Any, credential: bytes, expires_at: datetime | None
    ) -> Caller:
        if row is None:
            raise Unauthenticated("unknown_program")
        if row.disabled_at is not None:
            raise Unauthenticated("user_disabled", TenantId(row.tenant), user=row.id, name=row.name)
        given = await roles.load_account_bindings(connection, row.tenant, row.id)
        return Caller(
            tenant=TenantId(row.tenant),
            tenant_name=row.tenant_name,
            token_id=derived_id(_TOKEN_NAMESPACE, credential.hex()),
            name=row.name,
            grants=combine_bindings(given),
            roles=_held(given),
            user=row.id,
            expires_at=expires_at,
        )


async def _given(
    connection: AsyncConnection, tenant: UUID, account: UUID | None, role: str
) -> Sequence[Binding]:
    """Load the role bindings of an account, or of a token without one."""
    if account is None:
        return [Binding(role, ROLES[role])]
    return await roles.load_account_bindings(connection, tenant, account)


def _scope(listed: list[str] | None) -> Permissions | None:
    return None if listed is None else parse_permissions(listed)


def _why_not(session: Any, now: datetime) -> str | None:
    """Return why a session is invalid. Expiry is checked with the caller's own `expires_at`."""
    if session.disabled_at is not None:
        return "user_disabled"
    if session.ended_at is not None:
        return "session_ended"
    if session.token is not None and (session.token_name is None or session.token_revoked_at is not None):
        return "token_revoked"
    return "session_idle" if session.used_at + timedelta(seconds=session.idle_s) <= now else None


def _held(given: Sequence[Binding]) -> tuple[AssignedRole, ...]:
    return tuple(AssignedRole(one.role, one.scope) for one in given)


def _moment(seconds: float) -> datetime:
    """Convert a provider token's expiry; a time beyond the range of `datetime` becomes its maximum."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)
