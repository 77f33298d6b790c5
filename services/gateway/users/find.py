"""From what a path names to the user or the group, within the caller's tenant."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.platform.auth.store import accounts as store
from services.gateway.platform.references import parse_uuid


async def user_in(connection: AsyncConnection, reference: str) -> Any:
    """By name or id. Raises NotFound."""
    row = await store.load_account(connection, parse_uuid(reference) or reference)
    if row is None:
        raise NotFound(f"user {reference}", "`muster user list` shows those there are")
    return row


async def group_in(connection: AsyncConnection, reference: str) -> Any:
    """By name or id. Raises NotFound."""
    row = await store.load_team(connection, parse_uuid(reference) or reference)
    if row is None:
        raise NotFound(f"group {reference}", "`muster group list` shows those there are")
    return row
