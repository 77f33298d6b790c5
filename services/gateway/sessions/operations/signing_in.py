"""Signing in, by password or with a provider. Nobody is known yet: every refusal is the same, and takes the same work."""

import hmac
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from muster.errors import Rejected
from services.gateway.platform.auth.forwarding import caller_key
from services.gateway.platform.auth.refusals import SignInRefused, UnknownUser
from services.gateway.platform.auth.sign_in import tickets
from services.gateway.platform.auth.sign_in.sign_in_file import ProviderSection
from services.gateway.platform.auth.store import accounts as people, sessions as store, tokens as access
from services.gateway.platform.auth.tokens import RANDOM_BYTES, SESSION_PREFIX, hash_token, render_token
from services.gateway.platform.call import Call
from services.gateway.platform.schema import Empty
from services.gateway.sessions.accounts import account_of
from services.gateway.sessions.claims import fulfils
from services.gateway.sessions.schema import (
    BeginSignInRequest,
    BegunSignIn,
    CreatedSession,
    FinishSignInRequest,
    Session,
    SignInProvider,
    SignInRequest,
    SignInWays,
    TokenSignInRequest,
)
from shared.auth.jwts import Claims, NotValid
from shared.bus import Unit
from shared.ids import SITE, TenantId, new_id

PASSWORD, TOKEN = "password", "token"
_NOWHERE = TenantId(UUID(int=1))
"""A tenant that is none: what is asked of it is found nowhere."""
_log = structlog.get_logger()


async def sign_in(call: Call, request: SignInRequest) -> CreatedSession:
    """Begins a session with a user's name and password, and shows its secret, this one time."""
    passwords = call.doors.sign_in.passwords
    if passwords is None:
        raise Rejected(
            "no_passwords", "this site takes no passwords", hint="`muster login URL --with PROVIDER`"
        )
    await check_attempts(call, f"{request.tenant}\0{request.user}")
    mine = call.as_tenant(await _tenant(call, request.tenant))
    async with mine.read() as connection:
        account = await people.load_account(connection, request.user)
        hashed = await store.load_password(connection, account.id if account is not None else _NOWHERE)
    is_right = await passwords.matches(hashed, request.password)
    if account is None:
        # What was typed is not kept: it may be a password in the wrong field.
        raise SignInRefused("unknown_user", _logged(mine.tenant))
    if not is_right or account.disabled_at is not None:
        why = "user_disabled" if is_right else "wrong_password"
        raise SignInRefused(why, mine.tenant, account.id, account.name)
    async with mine.transaction() as unit:
        return await _begin_session(mine, unit, _Who(account.id, account.name), request.tenant, PASSWORD)


async def sign_in_with_token(call: Call, request: TokenSignInRequest) -> CreatedSession:
    """Begins a session that may what a token may, as long as that counts, and shows its secret, this one time."""
    await check_attempts(call, None)
    hashed = hash_token(call.doors.keys.token, request.token)
    async with call.doors.database.system() as connection:
        token = await access.find_token(connection, hashed)
    if token is None:
        raise SignInRefused("no_such_token")
    mine = call.as_tenant(TenantId(token.tenant))
    async with mine.transaction() as unit:
        return await session_for_token(mine, unit, token, TOKEN)


async def session_for_token(mine: Call, unit: Unit, token: Any, via: str) -> CreatedSession:
    """Begins a session that stands for a token, as `access.find_token` found it. Raises RefusedSignIn where that no longer counts."""
    name = token.account_name or token.name
    if token.revoked_at is not None or token.disabled_at is not None:
        why = "token_revoked" if token.revoked_at is not None else "user_disabled"
        raise SignInRefused(why, mine.tenant, token.account, name)
    if token.expires_at is not None and token.expires_at <= unit.now:
        raise SignInRefused("token_expired", mine.tenant, token.account, name)
    who = _Who(token.account, name, token.id, token.expires_at)
    return await _begin_session(mine, unit, who, token.tenant_name, via)


async def list_sign_in_ways(call: Call, _: Empty) -> SignInWays:
    """Tells by which ways people sign in here, as far as the site shows them to everybody."""
    ways = call.doors.sign_in
    shown = [SignInProvider(name=name, label=label) for name, label in ways.providers.shown().items()]
    return SignInWays(passwords=ways.passwords is not None, providers=shown)


async def begin_sign_in(call: Call, request: BeginSignInRequest) -> BegunSignIn:
    """Begins a sign-in with a provider: where the browser goes, and a ticket to finish with."""
    section = call.doors.sign_in.providers.get(request.provider)
    if section is None or section.client_id is None:
        raise Rejected("unknown_provider", "there is no such provider of people here", "provider")
    if not tickets.is_redirect(request.redirect, section.redirects, section.loopback):
        raise Rejected(
            "redirect_not_allowed",
            "the browser may not be sent back to there",
            "redirect",
            "the site's sign-in file lists the addresses",
        )
    await check_attempts(call, None)
    described = await call.doors.sign_in.providers.describe(request.provider)
    ends_at_s = int(call.doors.clock.now().timestamp()) + tickets.LIFE_S
    ticket = tickets.Ticket(request.provider, request.redirect, ends_at_s, secrets.token_urlsafe(32))
    text = tickets.render_ticket(call.doors.keys.sign_in, ticket)
    own = tickets.secrets_of(call.doors.keys.sign_in, text)
    url = tickets.authorization_url(
        described.authorization_endpoint, section.client_id, request.redirect, section.scope, own
    )
    expires_at = datetime.fromtimestamp(ends_at_s, UTC)
    return BegunSignIn(url=url, ticket=text, state=own.state, expires_at=expires_at)


async def finish_sign_in(call: Call, request: FinishSignInRequest) -> CreatedSession:
    """Begins a session of who the provider says it is, and shows its secret, this one time."""
    providers, key = call.doors.sign_in.providers, call.doors.keys.sign_in
    ticket = tickets.read_ticket(key, request.ticket, call.doors.clock.now().timestamp())
    own = tickets.secrets_of(key, request.ticket)
    section = providers.get(ticket.provider)
    if call.pen is not None:
        call.pen.asked.clear()  # A code is good for whoever has it.
    if section is None or not hmac.compare_digest(own.state.encode(), request.state.encode()):
        raise SignInRefused("other_sign_in")
    await check_attempts(call, None)
    mine = call.as_tenant(await _tenant(call, section.tenant))
    if mine.tenant == _NOWHERE:
        raise Rejected("unknown_tenant", f"this provider's tenant {section.tenant} is not there yet")
    described = await providers.describe(ticket.provider)
    if request.iss != section.issuer and (request.iss is not None or described.says_issuer):
        # The answer of another provider, whose code would be given away here (RFC 9207).
        raise SignInRefused("other_provider", mine.tenant)
    try:
        claims = await providers.redeem(ticket.provider, request.code, ticket.redirect, own)
    except NotValid as error:
        _log.warning("a sign-in was refused", provider=ticket.provider, reason=str(error))
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
        who = _Who(account.id, account.name)
        return await _begin_session(call, unit, who, section.tenant, provider)


@dataclass(frozen=True, slots=True)
class _Who:
    """Whose session begins: an account's, or what stands for a token, which may be nobody's."""

    account: UUID | None
    name: str
    token: UUID | None = None
    expires_at: datetime | None = None


async def _begin_session(call: Call, unit: Unit, who: _Who, tenant: str, via: str) -> CreatedSession:
    rules = call.doors.sign_in
    ends_at = unit.now + timedelta(seconds=rules.life_s)
    secret = render_token(secrets.token_bytes(RANDOM_BYTES), SESSION_PREFIX)
    values: dict[str, Any] = {
        "tenant": call.tenant,
        "id": new_id(call.doors.clock),
        "account": who.account,
        "token": who.token,
        "hash": hash_token(call.doors.keys.token, secret),
        "via": via,
        "address": call.address or "",
        "created_at": unit.now,
        "used_at": unit.now,
        "idle_s": rules.idle_s,
        "expires_at": ends_at if who.expires_at is None else min(ends_at, who.expires_at),
    }
    await store.insert_session(unit.connection, values)
    if call.pen is not None:
        call.pen.facts = replace(call.pen.facts, actor=who.name, user=who.account)
    call.note(after=Session.model_validate(values), entity=f"user/{who.name}/session/{values['id']}")
    shown = {"secret": secret, "user": who.name, "tenant": tenant, "current": True}
    return CreatedSession.model_validate(values | shown)


async def check_attempts(call: Call, account: str | None) -> None:
    """Raises Transient where there were too many, be there such an account or not."""
    attempts = call.doors.sign_in.attempts
    if call.address is not None:
        await attempts.attempt("address", caller_key(call.address))
    if account is not None:
        await attempts.attempt("account", account)


def _logged(tenant: TenantId) -> TenantId:
    """In whose log a refusal stands: of a tenant that is none, in the site's."""
    return SITE if tenant == _NOWHERE else tenant


async def _tenant(call: Call, name: str) -> TenantId:
    """The tenant of this name, or one that has nobody. The system role: who signs in has no tenant yet."""
    async with call.doors.database.system() as connection:
        found = await access.find_tenant(connection, name)
    return found if found is not None and found != SITE else _NOWHERE
