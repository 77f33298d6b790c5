"""Operations on the caller's identity and on access tokens."""

import secrets
from datetime import timedelta
from typing import Any

from muster.errors import NotFound
from services.gateway.platform.auth.delegation_checks import check_caller_holds
from services.gateway.platform.auth.grants import Binding, combine_bindings, nearest_role
from services.gateway.platform.auth.permissions import ROLES, Permission
from services.gateway.platform.auth.store import tokens as store
from services.gateway.platform.auth.tokens import RANDOM_BYTES, hash_token, render_token
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, NATURAL, SAFE
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Empty
from services.gateway.tokens.schema import (
    OF_A_USER,
    CreatedToken,
    CreateTokenRequest,
    HeldRole,
    ListTokensRequest,
    Me,
    Role,
    Token,
    TokenPage,
    TokenRequest,
)
from shared.ids import new_id


async def get_me(call: Call, request: Empty) -> Me:
    """Get the caller's identity, roles and permissions."""
    caller = call.caller
    return Me(
        tenant=caller.tenant,
        tenant_name=caller.tenant_name,
        token=caller.token_id,
        name=caller.name,
        role=Role(nearest_role(caller.grants)),
        permissions=sorted(caller.grants.held),
        roles=[
            HeldRole(role=held.role, workspace=held.scope.workspace, project=held.scope.project)
            for held in caller.roles
        ],
        expires_at=caller.expires_at,
    )


async def create_token(call: Call, request: CreateTokenRequest) -> CreatedToken:
    """Create an access token and return its secret, only in this response."""
    check_caller_holds(
        call, combine_bindings([Binding(request.role, ROLES[request.role])]), f"role {request.role}", "role"
    )
    secret, token_id = render_token(secrets.token_bytes(RANDOM_BYTES)), new_id(call.dependencies.clock)
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, token_id)
        if earlier is not None:
            return CreatedToken.model_validate(earlier.response)
        expires_at = unit.now + timedelta(seconds=request.ttl_s)
        if call.caller.expires_at is not None:
            expires_at = min(expires_at, call.caller.expires_at)
        values = {
            "tenant": call.tenant,
            "id": token_id,
            "name": request.name,
            "role": str(request.role),
            "hash": hash_token(call.dependencies.keys.token, secret),
            "created_at": unit.now,
            "expires_at": expires_at,
        }
        await store.insert_token(unit.connection, values)
        created = CreatedToken.model_validate(values | {"secret": secret})
        call.set_audit_fields(after=created)
        return await remember(call, unit.connection, created)


async def list_tokens(call: Call, request: ListTokensRequest) -> TokenPage:
    """List the tenant's access tokens without their secrets, newest first unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await store.load_tokens(connection, wanted)
    return TokenPage(
        items=[_render_token(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def revoke_token(call: Call, request: TokenRequest) -> Token:
    """Revoke an access token. Every replica rejects it within seconds."""
    token_id = parse_uuid(request.token)
    async with call.transaction() as unit:
        if token_id is not None:
            before = await store.load_token(unit.connection, token_id)
            await store.revoke_token(unit.connection, token_id, unit.now)
            row = await store.load_token(unit.connection, token_id)
            if row is not None and before is not None:
                call.set_audit_fields(before=_render_token(before), after=_render_token(row))
                return _render_token(row)
    raise NotFound("the token")


def _render_token(row: Any) -> Token:
    of_user = {} if row.account is None else {"role": OF_A_USER, "scope": row.scope or []}
    return Token.model_validate({**row._mapping, "scope": [], **of_user})


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetMe", "GET", "/v1/me", Empty, Me, Permission.SELF, SAFE, get_me),
    Operation("CreateToken", "POST", "/v1/tokens", CreateTokenRequest, CreatedToken, Permission.TOKEN_MANAGE, KEY, create_token, status=201, secret=True),
    Operation("ListTokens", "GET", "/v1/tokens", ListTokensRequest, TokenPage, Permission.TOKEN_MANAGE, SAFE, list_tokens),
    Operation("RevokeToken", "DELETE", "/v1/tokens/{token}", TokenRequest, Token, Permission.TOKEN_MANAGE, NATURAL, revoke_token),
)
# fmt: on
