"""What stands on the outside of a message: its headers. Filled by the outbox, read by the consumer; nobody fills them by hand."""

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
"""The id of a message that is sent again under another `Nats-Msg-Id`, so that the stream's duplicate window lets it through."""
OLD = "Muster-Old"
"""On an event that is older than any inbox remembers: who has handled it cannot tell."""
TYPE = "Muster-Type"
VERSION = "Muster-Version"
TENANT = "Muster-Tenant"
CORRELATION = "Muster-Correlation"
CAUSATION = "Muster-Causation"
ERROR = "Muster-Error"
DEADLINE = "Muster-Deadline-Ms"


@dataclass(frozen=True, slots=True)
class Envelope:
    """Identity, type and causes of a message, with the trace it belongs to."""

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
        """Raises Rejected (`bad_envelope`) where a header is missing or cannot be read."""
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
            raise Rejected("bad_envelope", f"the message's headers cannot be read: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Delivery(Generic[M]):
    """One message as its handler sees it."""

    message: M
    envelope: Envelope


def without_old(batch: Sequence[Delivery[M]]) -> list[Delivery[M]]:
    """Without what is older than the inbox remembers: for handlers that count what happens, where a projection goes by versions."""
    return [delivery for delivery in batch if not delivery.envelope.is_old]


def _optional(text: str | None) -> UUID | None:
    return UUID(text) if text else None
