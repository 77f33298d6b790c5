"""From what a path names to the model or the version, within the caller's tenant."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.models import store as models
from services.gateway.models.determined_import import determined_hint
from services.gateway.platform.call import Call
from services.gateway.platform.references import NUMBER, Row, parse_uuid


async def model_in(connection: AsyncConnection, reference: str) -> Row:
    """By id, name, or `workspace/name`, within a transaction. Raises NotFound; Conflict where several workspaces have one of that name."""
    found = await models.load_named(connection, parse_uuid(reference) or reference)
    if not found:
        raise NotFound(f"model {reference}", "`muster model list` shows those there are")
    if len(found) > 1:
        places = ", ".join(f"{row.workspace}/{row.name}" for row in found)
        raise Conflict(
            "model_ambiguous", f"there are several models of that name: {places}", hint="say which"
        )
    return found[0]


async def version_in(connection: AsyncConnection, model: Row, reference: str) -> Row:
    """By number, alias or `latest`, within a transaction. Raises NotFound."""
    number = model.changed["aliases"].get(reference)
    if number is None and NUMBER.fullmatch(reference):
        number = int(reference)
    row = None
    if number is not None or reference == "latest":
        row = await models.load_version(connection, model.id, number)
    if row is None:
        usual = "versions are named by their number, an alias, or `latest`"
        raise NotFound(f"version {reference}", determined_hint(model.changed["metadata"], reference) or usual)
    return row


async def find_version(call: Call, model: str, version: str) -> Any:
    """Raises NotFound."""
    async with call.read() as connection:
        return await version_in(connection, await model_in(connection, model), version)
