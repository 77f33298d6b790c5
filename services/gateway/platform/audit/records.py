"""Renders audit records: caller, operation, origin, and the state before and after, without secrets."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from muster.audit import Anchor, link
from shared.ids import TenantId

MAX_PART_BYTES = 16 * 1024
"""Maximum size of each of `asked`, `before` and `after`. For longer documents only the size is recorded."""
MAX_TEXT_CHARS = 300
_LEFT_OUT = {"config_yaml", "cursor"}
"""Request fields that are not recorded. The config is recorded in `after`, without secrets."""
_SECRET = {
    "secret", "password", "passphrase", "new_password", "jwt", "authorization", "bearer", "cookie", "code_verifier",
    "client_secret", "private_key", "old_password", "ticket", "environment_variables", "user_key", "secret_value",
}  # fmt: skip
"""Fields whose values are hidden in audit records. Environment variables in a config often contain credentials."""
_TOKENS = re.compile(r"\bms[a-z]_[A-Za-z0-9_-]{20,}")
_URL_REST = re.compile(r"(https?://)(?:[^/@\s]*@)?([^/?#\s]+)[^\s]*")
_SECRET_MARKS = (
    *(f'"{name}":'.encode() for name in sorted(_SECRET - {"environment_variables"})),
    b'"environment_variables":["',
    b'"config_yaml":',
    b"://",
)
_TOKEN_START = re.compile(rb"ms[a-z]_")
_UNSEALED = '"sequence":0'
HIDDEN = "…"


class AuditOutcome(StrEnum):
    """Whether the call was allowed."""

    ALLOWED = "allowed"
    DENIED = "denied"


class Audited(StrEnum):
    """When the audit log records an operation. Denials are always recorded."""

    NEVER = "never"
    CHANGE = "change"
    """The record of a change is committed with the change."""
    READ = "look"
    """The record of a sensitive read is committed before the answer is sent."""


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of a call: protocol, client address and user agent, if known."""

    protocol: str = ""
    address: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """The facts of a call that are known before it runs. Equal facts identify equal denials."""

    operation: str
    entity: str
    origin: CallOrigin
    actor: str = ""
    user: UUID | None = None
    token: UUID | None = None
    path: Mapping[str, str] = field(default_factory=dict, hash=False)


def render_record(
    tenant: TenantId,
    facts: CallFacts,
    at: datetime,
    record_id: UUID,
    outcome: str,
    trace_id: str | None = None,
    **more: Any,
) -> str:
    """Render a record as canonical JSON, without unknown and empty fields. Its sequence is 0 until it is sealed.

    Args:
        more: `asked`, `before` and `after` as JSON documents, `code` and `count`.
    """
    known: dict[str, Any] = {
        "at": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "id": str(record_id),
        "actor": _plain(facts.actor),
        "user": str(facts.user or ""),
        "token": str(facts.token or ""),
        "operation": facts.operation,
        "entity": _plain(facts.entity),
        "path": {name: _plain(value) for name, value in facts.path.items()},
        "address": _plain(facts.origin.address),
        "agent": _plain(facts.origin.agent),
        "protocol": facts.origin.protocol,
        "outcome": outcome,
        "trace_id": trace_id,
        "sequence": 0,
        "tenant": str(tenant),
        **{name: _part(value) if isinstance(value, dict) else value for name, value in more.items()},
    }
    return _canonical({name: value for name, value in known.items() if value or value == 0})


def seal_all(before: Anchor, records: list[str]) -> list[tuple[int, str, bytes]]:
    """Return sequence, text and hash of records that follow `before` in the chain, in this order."""
    sealed = []
    for record in records:
        sequence = before.sequence + 1
        # Keys are sorted and only ids follow `sequence`, so the last match is the record's own field.
        head, _, tail = record.rpartition(_UNSEALED)
        text = f'{head}"sequence":{sequence}{tail}'
        before = Anchor(sequence, link(before.hash, text))
        sealed.append((sequence, text, before.hash))
    return sealed


def name_entity(path: str, values: Mapping[str, str], made: Mapping[str, Any] | None = None) -> str:
    """Return the entity of an operation as `kind/name/…`: from the path's parameters, or the path's kind with the created resource.

    Args:
        path: the operation's path, with parameters in braces.
        values: values of the parameters.
        made: the resource that the operation has created, if any.
    """
    if values:
        return "/".join(f"{kind}/{name}" for kind, name in values.items())
    kind = path.removeprefix("/v1/").split("/")[0]
    kind = f"{kind[:-3]}y" if kind.endswith("ies") else kind.removesuffix("s")
    name = next((str(made[key]) for key in ("number", "name", "id") if made.get(key)), "") if made else ""
    return f"{kind}/{name}" if name else kind


def requested_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded fields of a request."""
    return {name: value for name, value in document.items() if name not in _LEFT_OUT}


def without_secrets(value: Any, name: str = "") -> Any:
    """Return a JSON value with secrets hidden, recognized by field name or by form."""
    if name in _SECRET and value not in (None, "", [], {}):
        return HIDDEN
    if isinstance(value, dict):
        return {key: without_secrets(item, key) for key, item in value.items() if key != "config_yaml"}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if isinstance(value, str):
        return (
            _URL_REST.sub(rf"\1\2/{HIDDEN}", _TOKENS.sub(HIDDEN, value))
            if "_" in value or ":" in value
            else value
        )
    return value


def _part(document: dict[str, Any]) -> orjson.Fragment | dict[str, int] | None:
    if not document:
        return None
    text = _canonical(document).encode()
    # A search for marks is faster than walking the document, and most documents contain no secret.
    if any(mark in text for mark in _SECRET_MARKS) or _TOKEN_START.search(text):
        text = _canonical(without_secrets(document)).encode()
    return orjson.Fragment(text) if len(text) <= MAX_PART_BYTES else {"left_out_bytes": len(text)}


def _canonical(document: dict[str, Any]) -> str:
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # Configs may contain integers of more than 64 bits.
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(text: str) -> str:
    """Replace characters that are not printable, hide tokens, and truncate long text."""
    if text.isprintable() and "_" not in text and len(text) <= MAX_TEXT_CHARS:
        return text
    cleaned = "".join(one if one.isprintable() else "?" for one in text[: MAX_TEXT_CHARS + 1])
    cleaned = _TOKENS.sub(HIDDEN, cleaned.encode("utf-8", "replace").decode())
    return cleaned if len(cleaned) <= MAX_TEXT_CHARS else cleaned[:MAX_TEXT_CHARS] + HIDDEN
