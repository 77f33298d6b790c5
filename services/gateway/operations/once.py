"""Idempotency keys: the same request again has the same answer, another request with the same key is refused."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

import orjson
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.api.base import Request, Resource
from services.gateway.operations.call import Call
from services.gateway.store.events import claim_key, drop_key, save_answer
from shared.bus import Unit


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a request ordered: the operation, where the feed stood before it, and its answer, once that is known."""

    operation_id: UUID
    position: int
    response: JsonValue = None


async def claim(
    call: Call, unit: Unit, request: Request, operation_id: UUID, position: int = 0
) -> Claimed | None:
    """Claims the call's key for an operation; what was ordered under it before instead, if anything.

    Args:
        position: the last of the tenant's feed, behind which the operation's outcome will be told.

    Raises:
        Conflict: the key was used for another request.
    """
    key = call.idempotency_key
    if key is None:
        return None
    mark = _fingerprint(call, request)
    values = {
        "tenant": call.tenant,
        "operation": call.operation,
        "key": key,
        "fingerprint": mark,
        "entity": operation_id,
        "position": position,
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
    if earlier is not None:
        call.note(code="repeated")
    return Claimed(earlier.entity, earlier.position, earlier.response) if earlier is not None else None


async def remember(call: Call, connection: AsyncConnection, answer: Resource) -> None:
    """Keeps the answer for whoever repeats the request."""
    if call.idempotency_key is not None:
        await save_answer(connection, call.operation, call.idempotency_key, answer.model_dump(mode="json"))


async def forget(call: Call, operation_id: UUID) -> None:
    """The owner refused the operation: the key may be used again."""
    if call.idempotency_key is not None:
        async with call.connection() as connection:
            await drop_key(connection, call.operation, call.idempotency_key, operation_id)


def _fingerprint(call: Call, request: Request) -> bytes:
    """Who asks is part of what is asked: another person's approval is another request."""
    asked = {"by": str(call.caller.user or call.caller.name), "request": request.model_dump(mode="json")}
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()
