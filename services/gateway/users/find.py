"""Resolve references in paths to users and groups of the caller's tenant."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.platform.auth.store import accounts as store
from services.gateway.platform.references import parse_uuid


async def user_in(connection: AsyncConnection, reference: str) -> Any:
    """Load a user by name or id. Raises NotFound."""
    row = await store.load_account(connection, parse_uuid(reference) or reference)
    if row is None:
        raise NotFound(f"user {reference}", "`muster user list` lists the users")
    return row


async def group_in(connection: AsyncConnection, reference: str) -> Any:
    """Load a group by name or id. Raises NotFound."""
    row = await store.load_group(connection, parse_uuid(reference) or reference)
    if row is None:
        raise NotFound(f"group {reference}", "`muster group list` lists the groups")
    return row
