"""Resolve references to models and versions of the caller's tenant."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.models import store as models
from services.gateway.models.determined_import import determined_hint
from services.gateway.platform.call_context import Call
from services.gateway.platform.references import NUMBER, Row, parse_uuid


async def model_in(connection: AsyncConnection, reference: str) -> Row:
    """Find a model by id, name, or `workspace/name`. Raises NotFound; Conflict if several workspaces have a model of that name."""
    found = await models.load_named(connection, parse_uuid(reference) or reference)
    if not found:
        raise NotFound(f"model {reference}", "`muster model list` shows all models")
    if len(found) > 1:
        names = ", ".join(f"{row.workspace}/{row.name}" for row in found)
        raise Conflict(
            "model_ambiguous",
            f"several models are named {reference}: {names}",
            hint="name one as `workspace/name`",
        )
    return found[0]


async def version_in(connection: AsyncConnection, model: Row, reference: str) -> Row:
    """Find a version by number, alias or `latest`. Raises NotFound."""
    number = model.last_event["aliases"].get(reference)
    if number is None and NUMBER.fullmatch(reference):
        number = int(reference)
    row = None
    if number is not None or reference == "latest":
        row = await models.load_version(connection, model.id, number)
    if row is None:
        usual = "name a version by its number, an alias, or `latest`"
        raise NotFound(
            f"version {reference}", determined_hint(model.last_event["metadata"], reference) or usual
        )
    return row


async def find_version(call: Call, model: str, version: str) -> Any:
    """Find a version of a model. Raises NotFound."""
    async with call.read() as connection:
        return await version_in(connection, await model_in(connection, model), version)
