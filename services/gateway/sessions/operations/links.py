"""Single-use sign-in links: created with a token, exchanged for a session with that token's permissions."""

import secrets
from datetime import timedelta

from muster.errors import Rejected
from services.gateway.platform.auth.refusals import SignInLinkRefused
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.auth.tokens import LINK_PREFIX, RANDOM_BYTES, hash_token, render_token
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.schema import Empty
from services.gateway.sessions import store
from services.gateway.sessions.operations.signing_in import check_attempts, session_for_token
from services.gateway.sessions.schema import CreatedSession, LinkSignInRequest, SignInLink
from shared.ids import TenantId, new_id

LINK = "link"
PATH = "/#sign-in="
LIFE = timedelta(minutes=15)


async def create_sign_in_link(call: Call, request: Empty) -> SignInLink:
    """Create a single-use sign-in link that expires after 15 minutes. The session gets the permissions of the caller's token."""
    code, link_id = (
        render_token(secrets.token_bytes(RANDOM_BYTES), LINK_PREFIX),
        new_id(call.dependencies.clock),
    )
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, link_id)
        if earlier is not None:
            return SignInLink.model_validate(earlier.response)
        token = None
        if call.caller.session is None:
            token = await access.load_token(unit.connection, call.caller.token_id)
        if token is None:
            raise Rejected(
                "token_needed",
                "this request was not sent with an access token, which the link's session needs",
                hint="send an access token (`mst_…`), such as the platform's admin token",
            )
        expires_at = unit.now + LIFE
        link = {
            "tenant": call.tenant,
            "id": link_id,
            "token": token.id,
            "hash": hash_token(call.dependencies.keys.token, code),
            "created_at": unit.now,
            "expires_at": expires_at if token.expires_at is None else min(expires_at, token.expires_at),
        }
        await store.insert_link(unit.connection, link)
        call.set_audit_fields(entity=f"token/{token.id}/sign-in-link/{link_id}")
        made = SignInLink(id=link_id, path=f"{PATH}{code}", secret=code, expires_at=link["expires_at"])
        return await remember(call, unit.connection, made)


async def sign_in_with_link(call: Call, request: LinkSignInRequest) -> CreatedSession:
    """Sign in with a link and return the session's secret, only in this response. The link cannot be used again."""
    if call.audit_writer is not None:
        call.audit_writer.asked.clear()  # The code is a secret: keep it out of the audit log.
    await check_attempts(call)
    hashed = hash_token(call.dependencies.keys.token, request.code)
    async with call.dependencies.database.system() as connection:
        link = await store.find_link(connection, hashed)
        token = await access.find_token_by_id(connection, link.token) if link is not None else None
    if link is None or token is None:
        raise SignInLinkRefused("no_such_link")
    mine = call.as_tenant(TenantId(link.tenant))
    if link.expires_at <= call.dependencies.clock.now():
        raise SignInLinkRefused("link_expired", mine.tenant, token.account, token.account_name or token.name)
    async with mine.transaction() as unit:
        if not await store.use_link(unit.connection, link.id, unit.now):
            raise SignInLinkRefused("link_used", mine.tenant, token.account, token.account_name or token.name)
        return await session_for_token(mine, unit, token, LINK)
