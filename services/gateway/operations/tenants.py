"""The tenants of a site: who keeps it makes them and sees their names, and nothing that is theirs."""

import secrets
from datetime import timedelta

from muster.errors import Conflict
from services.gateway.api.base import PageRequest
from services.gateway.api.roles import CreatedTenant, CreateTenantRequest, Tenant, TenantPage
from services.gateway.core.permissions import ADMIN
from services.gateway.core.tokens import RANDOM_BYTES, hash_token, render_token
from services.gateway.operations.call import Call
from services.gateway.operations.once import claim, remember
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.store import access, founding
from shared.ids import TenantId, new_id


async def create_tenant(call: Call, request: CreateTenantRequest) -> CreatedTenant:
    """Makes a tenant with one admin, and shows that admin's token, this one time."""
    tenant = TenantId(new_id(call.doors.clock))
    secret = render_token(secrets.token_bytes(RANDOM_BYTES))
    async with call.site_unit() as unit:
        earlier = await claim(call, unit, request, tenant)
        if earlier is not None:
            return CreatedTenant.model_validate(earlier.response)
        connection, now = unit.connection, unit.now
        expires_at = now + timedelta(seconds=request.ttl_s)
        if not await access.ensure_tenant(connection, tenant, request.name, now):
            raise Conflict("tenant_exists", f"there is a tenant {request.name} already", "name")
        account = await founding.ensure_founder(connection, tenant, (ADMIN,), now)
        values = {
            "tenant": tenant,
            "id": new_id(call.doors.clock),
            "name": founding.FOUNDER,
            "role": ADMIN,
            "hash": hash_token(call.doors.keys.token, secret),
            "created_at": now,
            "expires_at": expires_at,
            "account": account,
        }
        await access.insert_token(connection, values)
        call.concerns(tenant)
        call.note(after=Tenant(id=tenant, name=request.name, created_at=now))
        created = CreatedTenant(
            id=tenant, name=request.name, created_at=now, secret=secret, expires_at=expires_at
        )
        return await remember(call, connection, created)


async def list_tenants(call: Call, request: PageRequest) -> TenantPage:
    """Lists the tenants of the site by name."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.system() as connection:
        rows = await access.load_tenants(
            connection, str(position[0]) if position else None, request.limit + 1
        )
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return TenantPage(
        items=[Tenant.model_validate(row._mapping) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].name]) if more else None,
    )
