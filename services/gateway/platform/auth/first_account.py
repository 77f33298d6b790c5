"""Creates the first account of a tenant. The tenant may change or remove its roles; restarts do not restore them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.grants import TENANT_SCOPE, Scope
from services.gateway.platform.auth.store import accounts as people, roles
from shared.ids import derived_id

FIRST_ACCOUNT = "admin"
SERVICE_ACCOUNT = "service_account"


async def ensure_first_account(
    connection: AsyncConnection, tenant: UUID, given: Sequence[str], now: datetime
) -> UUID:
    """Return the tenant's first account. Create it with the given roles if it does not exist."""
    account = derived_id(tenant, "account", FIRST_ACCOUNT)
    values = {
        "tenant": tenant,
        "id": account,
        "name": FIRST_ACCOUNT,
        "kind": SERVICE_ACCOUNT,
        "display_name": "first account",
        "created_at": now,
    }
    if await people.insert_account(connection, values):
        for role in given:
            values = binding_values(tenant, role, account, None, TENANT_SCOPE)
            await roles.insert_binding(connection, values | {"created_at": now, "by": FIRST_ACCOUNT})
    return account


def binding_values(
    tenant: UUID, role: str, account: UUID | None, group: UUID | None, scope: Scope
) -> dict[str, Any]:
    """Return the row of a role binding. Its id is derived from its contents."""
    parts = (role, str(account or group), scope.workspace or "", scope.project or "")
    return {
        "tenant": tenant,
        "id": derived_id(tenant, "binding", *parts),
        "role": role,
        "account": account,
        "account_group": group,
        "workspace": scope.workspace,
        "project": scope.project,
    }
