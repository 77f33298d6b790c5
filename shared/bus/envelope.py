"""Message headers: written by the outbox, read by the consumer, and never set by handlers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from shared import telemetry
from shared.errors import Rejected
from shared.ids import TenantId
from shared.messages.base import Message

M = TypeVar("M", bound=Message)

ID = "Nats-Msg-Id"
REPLAYED_ID = "Muster-Id"
"""Id of a message that is published again under another `Nats-Msg-Id`, so that the stream's duplicate window accepts it."""
OLD = "Muster-Old"
"""Marks an event older than the inbox retention: consumers cannot tell whether they handled it."""
TYPE = "Muster-Type"
VERSION = "Muster-Version"
TENANT = "Muster-Tenant"
CORRELATION = "Muster-Correlation"
CAUSATION = "Muster-Causation"
ERROR = "Muster-Error"
DEADLINE = "Muster-Deadline-Ms"
SIGNATURE = "Muster-Signature"
"""Signature of a message to a worker, over its subject and payload."""
SIGNED_BY = "Muster-Signed-By"
"""Public key of that signature."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """Identity, type and causes of a message, and its trace."""

    id: UUID
    type: str
    version: int
    tenant: TenantId
    correlation: UUID | None = None
    causation: UUID | None = None
    trace: Mapping[str, str] = field(default_factory=dict)
    is_old: bool = False

    def to_headers(self) -> dict[str, str]:
        headers = {
            ID: str(self.id),
            TYPE: self.type,
            VERSION: str(self.version),
            TENANT: str(self.tenant),
        }
        if self.correlation is not None:
            headers[CORRELATION] = str(self.correlation)
        if self.causation is not None:
            headers[CAUSATION] = str(self.causation)
        headers.update(self.trace)
        return headers

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "Envelope":
        """Parse headers.

        Raises:
            Rejected: A header is missing or invalid (`bad_envelope`).
        """
        try:
            return cls(
                id=UUID(headers.get(REPLAYED_ID) or headers[ID]),
                type=headers[TYPE],
                version=int(headers[VERSION]),
                tenant=TenantId(UUID(headers[TENANT])),
                correlation=_optional(headers.get(CORRELATION)),
                causation=_optional(headers.get(CAUSATION)),
                trace={key: headers[key] for key in telemetry.TRACE_HEADERS if key in headers},
                is_old=OLD in headers,
            )
        except (KeyError, ValueError) as error:
            raise Rejected("bad_envelope", f"the message headers cannot be parsed: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Delivery(Generic[M]):
    """A message as its handler receives it."""

    message: M
    envelope: Envelope


def without_old(batch: Sequence[Delivery[M]]) -> list[Delivery[M]]:
    """Drop messages older than the inbox retention: for handlers that count occurrences instead of comparing versions."""
    return [delivery for delivery in batch if not delivery.envelope.is_old]


def _optional(text: str | None) -> UUID | None:
    return UUID(text) if text else None
