"""Idempotency keys: the same request again has the same answer, another request with the same key is refused."""

import hashlib
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.api.base import Request, Resource
from services.gateway.operations.call import Call
from services.gateway.store.events import claim_key, drop_key, save_answer
from shared.bus import Unit


async def claim(call: Call, unit: Unit, request: Request, entity: UUID) -> Any | None:
    """Claims the call's key for what will be created as `entity`; the earlier claim (`entity`, `response`) instead, if any.

    Raises:
        Conflict: the key was used for another request.
    """
    key = call.idempotency_key
    if key is None:
        return None
    mark = _fingerprint(request)
    values = {
        "tenant": call.tenant,
        "operation": call.operation,
        "key": key,
        "fingerprint": mark,
        "entity": entity,
        "created_at": unit.now,
    }
    earlier = await claim_key(unit.connection, values)
    if earlier is not None and bytes(earlier.fingerprint) != mark:
        raise Conflict(
            "idempotency_key_reused",
            "this Idempotency-Key was used for another request within the last 24 hours",
            "Idempotency-Key",
            "use a new key for a new request",
        )
    return earlier


async def remember(call: Call, connection: AsyncConnection, answer: Resource) -> None:
    """Keeps the answer for whoever repeats the request."""
    if call.idempotency_key is not None:
        await save_answer(connection, call.operation, call.idempotency_key, answer.model_dump(mode="json"))


async def forget(call: Call) -> None:
    """The owner refused: the key may be used again."""
    if call.idempotency_key is not None:
        async with call.doors.database.tenant(call.tenant) as connection:
            await drop_key(connection, call.operation, call.idempotency_key)


def _fingerprint(request: Request) -> bytes:
    document = orjson.dumps(request.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(document).digest()
