"""Operations on tenants. Operators of the site create and list tenants, but cannot read their content."""

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.platform.auth import first_account
from services.gateway.platform.auth.grants import TENANT_SCOPE
from services.gateway.platform.auth.permissions import ADMIN, Permission
from services.gateway.platform.auth.store import accounts as people, roles, tokens as access
from services.gateway.platform.auth.tokens import RANDOM_BYTES, hash_token, render_token
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, SAFE
from services.gateway.roles.schema import (
    CreatedTenant,
    CreateTenantRequest,
    ListTenantsRequest,
    RecoverTenantRequest,
    Tenant,
    TenantPage,
)
from shared.ids import TenantId, new_id


async def create_tenant(call: Call, request: CreateTenantRequest) -> CreatedTenant:
    """Create a tenant with one admin account and return that account's token, only in this response."""
    tenant = TenantId(new_id(call.dependencies.clock))
    async with call.site_transaction() as unit:
        earlier = await claim(call, unit, request, tenant)
        if earlier is not None:
            return CreatedTenant.model_validate(earlier.response)
        connection, now = unit.connection, unit.now
        expires_at = now + timedelta(seconds=request.ttl_s)
        if not await access.ensure_tenant(connection, tenant, request.name, now):
            raise Conflict(
                "tenant_exists",
                f"a tenant named {request.name} already exists (upper and lower case count as equal)",
                "name",
                "choose another name",
            )
        account = await first_account.ensure_first_account(connection, tenant, (ADMIN,), now)
        secret = await _insert_token(
            call, connection, tenant, account, first_account.FIRST_ACCOUNT, expires_at
        )
        call.also_audit_in(tenant)
        call.set_audit_fields(after=Tenant(id=tenant, name=request.name, created_at=now))
        created = CreatedTenant(
            id=tenant, name=request.name, created_at=now, secret=secret, expires_at=expires_at
        )
        return await remember(call, connection, created)


async def recover_tenant(call: Call, request: RecoverTenantRequest) -> CreatedTenant:
    """Restore access to a tenant whose admins have all lost theirs. Enables its first account, makes it an admin and returns a token for it, only in this response."""
    async with call.site_transaction() as unit:
        earlier = await claim(call, unit, request, new_id(call.dependencies.clock))
        if earlier is not None:
            return CreatedTenant.model_validate(earlier.response)
        connection, now = unit.connection, unit.now
        expires_at = now + timedelta(seconds=request.ttl_s)
        row = await access.load_tenant(connection, request.tenant)
        if row is None:
            raise NotFound(f"tenant {request.tenant}", "`muster tenant list` lists the tenants")
        account = await first_account.ensure_first_account(connection, row.id, (ADMIN,), now)
        await people.save_account(connection, account, {"disabled_at": None})
        given = first_account.binding_values(row.id, ADMIN, account, None, TENANT_SCOPE)
        by = f"{call.caller.name} of {call.caller.tenant_name}"
        await roles.insert_binding(connection, given | {"created_at": now, "by": by})
        # The token's name makes the recovery visible in the tenant's own list of tokens.
        name = f"recovery by {by}"
        secret = await _insert_token(call, connection, TenantId(row.id), account, name, expires_at)
        call.also_audit_in(TenantId(row.id))
        call.set_audit_fields(after=Tenant.model_validate(row._mapping))
        recovered = CreatedTenant(
            id=row.id, name=row.name, created_at=row.created_at, secret=secret, expires_at=expires_at
        )
        return await remember(call, connection, recovered)


async def list_tenants(call: Call, request: ListTenantsRequest) -> TenantPage:
    """List the tenants of the site, by name unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.dependencies.database.system() as connection:
        found = await access.load_tenants(connection, wanted)
    return TenantPage(
        items=[Tenant.model_validate(row._mapping) for row in found.rows],
        next_cursor=next_cursor(call, request, found.next),
    )


async def _insert_token(
    call: Call, connection: AsyncConnection, tenant: TenantId, account: UUID, name: str, expires_at: datetime
) -> str:
    """Create a token for a tenant's first account and return its secret."""
    secret = render_token(secrets.token_bytes(RANDOM_BYTES))
    values = {
        "tenant": tenant,
        "id": new_id(call.dependencies.clock),
        "name": name,
        "role": ADMIN,
        "hash": hash_token(call.dependencies.keys.token, secret),
        "created_at": call.dependencies.clock.now(),
        "expires_at": expires_at,
        "account": account,
    }
    await access.insert_token(connection, values)
    return secret


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateTenant", "POST", "/v1/tenants", CreateTenantRequest, CreatedTenant, Permission.TENANT_MANAGE, KEY, create_tenant, status=201, secret=True),
    Operation("RecoverTenant", "POST", "/v1/tenants/{tenant}/recover", RecoverTenantRequest, CreatedTenant, Permission.TENANT_MANAGE, KEY, recover_tenant, status=201, secret=True),
    Operation("ListTenants", "GET", "/v1/tenants", ListTenantsRequest, TenantPage, Permission.TENANT_READ, SAFE, list_tenants),
)
# fmt: on
