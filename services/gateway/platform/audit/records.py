"""What an audit record says: who did what from where, with what it was before and after, and never a secret."""

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
"""Of what was asked, of before and of after, each; of what is longer only the size is kept."""
MAX_TEXT_CHARS = 300
_LEFT_OUT = {"config_yaml", "cursor"}
"""Of what was asked: the config that came of it stands in what was made, without secrets."""
_SECRET = {
    "secret", "password", "passphrase", "new_password", "jwt", "authorization", "bearer", "cookie", "code_verifier",
    "client_secret", "private_key", "old_password", "ticket", "environment_variables", "user_key",
}  # fmt: skip
"""Fields of which an audit record says only that they were there. Values of a config's environment are often credentials."""
_TOKENS = re.compile(r"\bms[a-z]_[A-Za-z0-9_-]{20,}")
_URL_REST = re.compile(r"(https?://)(?:[^/@\s]*@)?([^/?#\s]+)[^\s]*")
_SUSPECTS = (
    *(f'"{name}":'.encode() for name in sorted(_SECRET - {"environment_variables"})),
    b'"environment_variables":["',
    b'"config_yaml":',
    b"://",
)
_SUSPECT = re.compile(rb"ms[a-z]_")
_UNSEALED = '"sequence":0'
HIDDEN = "…"


class AuditOutcome(StrEnum):
    """Whether the caller might."""

    ALLOWED = "allowed"
    DENIED = "denied"


class Audited(StrEnum):
    """What of an operation stands in the audit log beside refusals."""

    NEVER = "never"
    CHANGE = "change"
    """It changes something: the record is committed with the change."""
    LOOK = "look"
    """It only reads, and who has read it is worth knowing: the record is committed before the answer goes out."""


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """From where a call came, as far as it can be known."""

    protocol: str = ""
    address: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """All that is known of a call before it is carried out; also what tells one denial from another."""

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
    """The record as canonical JSON, with 0 for the sequence that it has yet to be given; what is not known, or empty, is left out.

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
    """Sequence, text and hash of records that follow `before`, in this order."""
    sealed = []
    for record in records:
        sequence = before.sequence + 1
        # The last of its kind is the record's own: behind it, in the order of keys, come ids alone.
        head, _, tail = record.rpartition(_UNSEALED)
        text = f'{head}"sequence":{sequence}{tail}'
        before = Anchor(sequence, link(before.hash, text))
        sealed.append((sequence, text, before.hash))
    return sealed


def name_entity(path: str, values: Mapping[str, str], made: Mapping[str, Any] | None = None) -> str:
    """What an operation is about, as `kind/name/…`: what its path names, or else the kind of its path with what was made.

    Args:
        path: the operation's, with its places in braces.
        values: what stands in the places.
        made: what the operation has made, if it is that.
    """
    if values:
        return "/".join(f"{kind}/{name}" for kind, name in values.items())
    kind = path.removeprefix("/v1/").split("/")[0]
    kind = f"{kind[:-3]}y" if kind.endswith("ies") else kind.removesuffix("s")
    name = next((str(made[key]) for key in ("number", "name", "id") if made.get(key)), "") if made else ""
    return f"{kind}/{name}" if name else kind


def requested_fields(document: dict[str, Any]) -> dict[str, Any]:
    """What was asked, as far as it is kept."""
    return {name: value for name, value in document.items() if name not in _LEFT_OUT}


def without_secrets(value: Any, name: str = "") -> Any:
    """The JSON value without what nobody but its owner should see: by the field's name, or by its form."""
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
    # Most hold no secret, which is seen sooner than by walking through them.
    if any(word in text for word in _SUSPECTS) or _SUSPECT.search(text):
        text = _canonical(without_secrets(document)).encode()
    return orjson.Fragment(text) if len(text) <= MAX_PART_BYTES else {"left_out_bytes": len(text)}


def _canonical(document: dict[str, Any]) -> str:
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # Integers of more than 64 bits, which users may write in a config.
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(text: str) -> str:
    """Without what neither JSON nor a terminal should hold; cut where it is long."""
    if text.isprintable() and "_" not in text and len(text) <= MAX_TEXT_CHARS:
        return text
    cleaned = "".join(one if one.isprintable() else "?" for one in text[: MAX_TEXT_CHARS + 1])
    cleaned = _TOKENS.sub(HIDDEN, cleaned.encode("utf-8", "replace").decode())
    return cleaned if len(cleaned) <= MAX_TEXT_CHARS else cleaned[:MAX_TEXT_CHARS] + HIDDEN
