"""Sign-in by password, token or provider. Every refusal has the same answer and takes the same work, so that it reveals nothing about accounts."""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from muster.errors import Rejected
from services.gateway.platform.auth.client_address import caller_key
from services.gateway.platform.auth.refusals import SignInRefused, UnknownUser
from services.gateway.platform.auth.sign_in import login_state
from services.gateway.platform.auth.sign_in.sign_in_file import ProviderSection
from services.gateway.platform.auth.store import accounts as people, sessions as store, tokens as access
from services.gateway.platform.auth.tokens import RANDOM_BYTES, SESSION_PREFIX, hash_token, render_token
from services.gateway.platform.call_context import Call
from services.gateway.platform.limits.exceeded import LimitExceeded
from services.gateway.platform.schema import Empty
from services.gateway.sessions.accounts import account_of
from services.gateway.sessions.claims import fulfils
from services.gateway.sessions.schema import (
    BeginSignInRequest,
    CreatedSession,
    FinishSignInRequest,
    Session,
    SignInProvider,
    SignInRequest,
    SignInWays,
    StartedSignIn,
    TokenSignInRequest,
)
from shared.auth.jwts import Claims, NotValid
from shared.bus import Unit
from shared.ids import SITE, TenantId, new_id

PASSWORD, TOKEN = "password", "token"
_NOWHERE = TenantId(UUID(int=1))
"""Placeholder for an unknown tenant: look-ups in it find nothing."""
_log = structlog.get_logger()


async def sign_in(call: Call, request: SignInRequest) -> CreatedSession:
    """Sign in with a user's name and password and return the session's secret, only in this response."""
    passwords = call.dependencies.sign_in.passwords
    if passwords is None:
        raise Rejected(
            "no_passwords",
            "this site does not accept passwords",
            hint="sign in with a provider: `muster login URL --with PROVIDER`",
        )
    await check_attempts(call)
    await check_account_attempts(
        call,
        f"{request.tenant}\0{request.user}",
        lambda: _is_known_source(call, request.tenant, request.user),
    )
    mine = call.as_tenant(await _tenant(call, request.tenant))
    async with mine.read() as connection:
        account = await people.load_account(connection, request.user)
        hashed = await store.load_password(connection, account.id if account is not None else _NOWHERE)
    is_right = await passwords.matches(hashed, request.password)
    if account is None:
        # The name is not logged: it may be a password in the wrong field.
        raise SignInRefused("unknown_user", _logged(mine.tenant))
    if not is_right or account.disabled_at is not None:
        why = "user_disabled" if is_right else "wrong_password"
        raise SignInRefused(why, mine.tenant, account.id, account.name)
    async with mine.transaction() as unit:
        return await _begin_session(mine, unit, _Subject(account.id, account.name), request.tenant, PASSWORD)


async def sign_in_with_token(call: Call, request: TokenSignInRequest) -> CreatedSession:
    """Sign in with an access token and return the session's secret, only in this response. The session has the token's permissions and expires with it."""
    await check_attempts(call)
    hashed = hash_token(call.dependencies.keys.token, request.token)
    async with call.dependencies.database.system() as connection:
        token = await access.find_token(connection, hashed)
    if token is None:
        raise SignInRefused("no_such_token")
    mine = call.as_tenant(TenantId(token.tenant))
    async with mine.transaction() as unit:
        return await session_for_token(mine, unit, token, TOKEN)


async def session_for_token(mine: Call, unit: Unit, token: Any, via: str) -> CreatedSession:
    """Create a session for a token that `access.find_token` returned. Raises RefusedSignIn if the token is no longer valid."""
    name = token.account_name or token.name
    if token.revoked_at is not None or token.disabled_at is not None:
        why = "token_revoked" if token.revoked_at is not None else "user_disabled"
        raise SignInRefused(why, mine.tenant, token.account, name)
    if token.expires_at is not None and token.expires_at <= unit.now:
        raise SignInRefused("token_expired", mine.tenant, token.account, name)
    subject = _Subject(token.account, name, token.id, token.expires_at)
    return await _begin_session(mine, unit, subject, token.tenant_name, via)


async def list_sign_in_ways(call: Call, _: Empty) -> SignInWays:
    """List the public ways to sign in to this site."""
    ways = call.dependencies.sign_in
    public = [
        SignInProvider(name=name, label=label) for name, label in ways.providers.public_labels().items()
    ]
    return SignInWays(passwords=ways.passwords is not None, providers=public)


async def begin_sign_in(call: Call, request: BeginSignInRequest) -> StartedSignIn:
    """Start a sign-in with a provider. Returns the provider's page for the browser, and the ticket that finishes the sign-in."""
    section = call.dependencies.sign_in.providers.get(request.provider)
    if section is None or section.client_id is None:
        raise Rejected("unknown_provider", "this site has no such sign-in provider for people", "provider")
    if not login_state.is_redirect(request.redirect, section.redirects, section.loopback):
        raise Rejected(
            "redirect_not_allowed",
            "the site does not allow redirects to this address",
            "redirect",
            "the site's sign-in file lists the allowed addresses",
        )
    await check_attempts(call)
    described = await call.dependencies.sign_in.providers.describe(request.provider)
    expires_at_s = int(call.dependencies.clock.now().timestamp()) + login_state.LIFE_S
    ticket = login_state.Ticket(request.provider, request.redirect, expires_at_s, secrets.token_urlsafe(32))
    text = login_state.render_ticket(call.dependencies.keys.sign_in, ticket)
    own = login_state.secrets_of(call.dependencies.keys.sign_in, text)
    url = login_state.authorization_url(
        described.authorization_endpoint, section.client_id, request.redirect, section.scope, own
    )
    expires_at = datetime.fromtimestamp(expires_at_s, UTC)
    return StartedSignIn(url=url, ticket=text, state=own.state, expires_at=expires_at)


async def finish_sign_in(call: Call, request: FinishSignInRequest) -> CreatedSession:
    """Finish a sign-in with a provider and return the session's secret, only in this response."""
    providers, key = call.dependencies.sign_in.providers, call.dependencies.keys.sign_in
    ticket = login_state.read_ticket(key, request.ticket, call.dependencies.clock.now().timestamp())
    own = login_state.secrets_of(key, request.ticket)
    section = providers.get(ticket.provider)
    if call.audit_writer is not None:
        call.audit_writer.asked.clear()  # The code is a secret: keep it out of the audit log.
    if section is None or not hmac.compare_digest(own.state.encode(), request.state.encode()):
        raise SignInRefused("other_sign_in")
    await check_attempts(call)
    mine = call.as_tenant(await _tenant(call, section.tenant))
    if mine.tenant == _NOWHERE:
        raise Rejected("unknown_tenant", f"this provider's tenant {section.tenant} does not exist yet")
    described = await providers.describe(ticket.provider)
    if request.iss != section.issuer and (request.iss is not None or described.returns_issuer):
        # Mix-up attack (RFC 9207): the code is another provider's, and would be disclosed to this one.
        raise SignInRefused("other_provider", mine.tenant)
    try:
        claims = await providers.redeem(ticket.provider, request.code, ticket.redirect, own)
    except NotValid as error:
        _log.warning("sign-in refused", provider=ticket.provider, reason=str(error))
        raise SignInRefused("bad_token", mine.tenant) from None
    return await _welcome(mine, ticket.provider, section, claims)


async def _welcome(call: Call, provider: str, section: ProviderSection, claims: Claims) -> CreatedSession:
    if not fulfils(claims, section.required_claims):
        raise SignInRefused("claim_missing", call.tenant)
    async with call.transaction() as unit:
        account = await account_of(call, unit, section, claims)
        if account is None:
            raise UnknownUser(call.tenant, provider, claims["sub"])
        if account.disabled_at is not None:
            raise SignInRefused("user_disabled", call.tenant, account.id, account.name)
        subject = _Subject(account.id, account.name)
        return await _begin_session(call, unit, subject, section.tenant, provider)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The account or the token that a new session stands for. A token may have no account."""

    account: UUID | None
    name: str
    token: UUID | None = None
    expires_at: datetime | None = None


async def _begin_session(call: Call, unit: Unit, subject: _Subject, tenant: str, via: str) -> CreatedSession:
    rules = call.dependencies.sign_in
    expires_at = unit.now + timedelta(seconds=rules.life_s)
    secret = render_token(secrets.token_bytes(RANDOM_BYTES), SESSION_PREFIX)
    values: dict[str, Any] = {
        "tenant": call.tenant,
        "id": new_id(call.dependencies.clock),
        "account": subject.account,
        "token": subject.token,
        "hash": hash_token(call.dependencies.keys.token, secret),
        "via": via,
        "address": call.address or "",
        "created_at": unit.now,
        "used_at": unit.now,
        "idle_s": rules.idle_s,
        "expires_at": expires_at if subject.expires_at is None else min(expires_at, subject.expires_at),
    }
    await store.insert_session(unit.connection, values)
    if call.audit_writer is not None:
        call.audit_writer.facts = replace(call.audit_writer.facts, actor=subject.name, user=subject.account)
    call.set_audit_fields(
        after=Session.model_validate(values), entity=f"user/{subject.name}/session/{values['id']}"
    )
    visible = {"secret": secret, "user": subject.name, "tenant": tenant, "current": True}
    return CreatedSession.model_validate(values | visible)


async def check_attempts(call: Call) -> None:
    """Count a sign-in attempt by address. Raises Transient if there were too many."""
    if call.address is not None:
        await call.dependencies.sign_in.attempts.attempt("address", caller_key(call.address))


async def check_account_attempts(
    call: Call, account: str, is_known_source: Callable[[], Awaitable[bool]] | None = None
) -> None:
    """Count an attempt for an account, whether or not it exists. Raises Transient if there were too many from this address or from all.

    Args:
        is_known_source: Whether the account has been signed in to from this address. Attempts from elsewhere then do not lock it out here.
    """
    attempts = call.dependencies.sign_in.attempts
    source = f"{caller_key(call.address) if call.address is not None else ''}\0{account}"
    # In this order: an attempt that its source's limits refuse does not count against the account.
    await attempts.attempt("source", source)
    await attempts.attempt("source_slow", source)
    try:
        await attempts.attempt("account", account)
    except LimitExceeded:
        if is_known_source is None or not await is_known_source():
            raise


async def _is_known_source(call: Call, tenant: str, user: str) -> bool:
    async with call.dependencies.database.system() as connection:
        return await store.has_session_from(connection, tenant, user, call.address or "")


def _logged(tenant: TenantId) -> TenantId:
    """Return the tenant whose audit log records a refusal: the site's if the tenant does not exist."""
    return SITE if tenant == _NOWHERE else tenant


async def _tenant(call: Call, name: str) -> TenantId:
    """Return the tenant of this name, or `_NOWHERE`. Uses the system role, as the client has no tenant yet."""
    async with call.dependencies.database.system() as connection:
        found = await access.find_tenant(connection, name)
    return found if found is not None and found != SITE else _NOWHERE
