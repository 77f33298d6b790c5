"""Idempotency keys: a repeated request gets the same answer; another request with the same key is rejected.

Stored answers that contain a secret are encrypted with a key derived from the pepper and the idempotency key.
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

import orjson
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.store import claim_key, drop_key, save_answer
from services.gateway.platform.encryption import NONCE_BYTES, seal, unseal
from services.gateway.platform.schema import Request, Resource
from shared.bus import Unit

A = TypeVar("A", bound=Resource)
_SEALED = "sealed"


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """The claim of an idempotency key: the operation, the end of the feed before it, and its answer once it is known."""

    operation_id: UUID
    position: int
    response: JsonValue = None


async def claim(
    call: Call, unit: Unit, request: Request, operation_id: UUID, position: int = 0
) -> IdempotencyClaim | None:
    """Claim the call's key for an operation. If the key is taken, return the earlier claim instead.

    Args:
        position: the last position of the tenant's feed; the outcome of the operation comes after it.

    Raises:
        Conflict: the key was used for another request.
    """
    values = claimed_by(call, unit, request, operation_id, position)
    if values is None:
        return None
    earlier = await claim_key(unit.connection, values)
    if earlier is not None and bytes(earlier.fingerprint) != values["fingerprint"]:
        raise Conflict(
            "idempotency_key_reused",
            "this Idempotency-Key was used for another request within the last 24 hours",
            "Idempotency-Key",
            "use a new key for a new request",
        )
    if earlier is None:
        return None
    call.set_audit_fields(code="repeated")
    return IdempotencyClaim(earlier.entity, earlier.position, _opened(call, values["key"], earlier.response))


def claimed_by(
    call: Call, unit: Unit, request: Request, operation_id: UUID, position: int = 0
) -> dict[str, Any] | None:
    """Return the row for the claim of the call's key; None if the call has no key."""
    if call.idempotency_key is None:
        return None
    return {
        "tenant": call.tenant,
        "operation": call.operation,
        "key": call.idempotency_key,
        "fingerprint": _fingerprint(call, request),
        "entity": operation_id,
        "position": position,
        "created_at": unit.now,
    }


async def claim_apart(call: Call, request: Request, operation_id: UUID) -> IdempotencyClaim | None:
    """Claim like `claim`, in a separate transaction, before another service is asked for the change."""
    async with call.transaction(audited=False) as unit:
        return await claim(call, unit, request, operation_id)


async def remember(call: Call, connection: AsyncConnection, answer: A) -> A:
    """Store the answer for repeated requests. Return the stored one, which may be that of a concurrent request."""
    key = call.idempotency_key
    if key is None:
        return answer
    stored = _closed(call, key, answer.model_dump(mode="json"))
    kept = await save_answer(connection, call.tenant, call.operation, key, stored)
    return answer if kept == stored else type(answer).model_validate(_opened(call, key, kept))


async def forget(call: Call, operation_id: UUID) -> None:
    """Free the call's key after the owner has refused the operation."""
    if call.idempotency_key is not None:
        async with call.transaction() as unit:
            await drop_key(unit.connection, call.tenant, call.operation, call.idempotency_key, operation_id)


def _fingerprint(call: Call, request: Request) -> bytes:
    """Hash the request together with the caller: the same approval by another person is another request."""
    asked = {"by": str(call.caller.user or call.caller.name), "request": request.model_dump(mode="json")}
    if call.is_secret:  # Two tokens without a user may have the same name.
        asked["token"] = str(call.caller.token_id)
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()


def _closed(call: Call, key: str, answer: JsonValue) -> JsonValue:
    if not call.is_secret:
        return answer
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = seal(_key(call, key), nonce, _context(call, key), orjson.dumps(answer).decode())
    return {_SEALED: base64.b64encode(sealed).decode()}


def _opened(call: Call, key: str, kept: JsonValue) -> JsonValue:
    if not call.is_secret or kept is None:
        return kept
    sealed = base64.b64decode(cast(dict[str, str], kept)[_SEALED])
    answer: JsonValue = orjson.loads(unseal(_key(call, key), _context(call, key), sealed))
    return answer


def _key(call: Call, key: str) -> bytes:
    return hmac.digest(call.dependencies.keys.answer, key.encode(), hashlib.sha256)


def _context(call: Call, key: str) -> bytes:
    return f"{call.tenant}:{call.operation}:{key}".encode()
