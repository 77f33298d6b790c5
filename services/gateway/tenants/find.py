"""Resolves tenant names in requests."""

from muster.errors import NotFound
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from shared.ids import TenantId


async def named_tenant(call: Call, name: str | None) -> tuple[TenantId, str]:
    """Return the named tenant, by default the caller's. Raises NotFound, also if a caller who is no operator names another tenant."""
    if name is None or name == call.caller.tenant_name:
        return call.tenant, call.caller.tenant_name
    if call.caller.is_site_operator:
        async with call.dependencies.database.system() as connection:
            found = await access.find_tenant(connection, name)
        if found is not None:
            return found, name
    raise NotFound(f"tenant {name}")
