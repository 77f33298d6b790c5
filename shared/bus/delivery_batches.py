"""Messages fetched by the delivery loop: how batches are split by tenant and traced."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from nats.aio.msg import Msg

from shared import telemetry
from shared.bus.envelope import Delivery
from shared.errors import MusterError, meaning_of
from shared.ids import TenantId
from shared.messages.base import Command, Event


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A received message with its raw form for the acknowledgement, and its number of deliveries."""

    raw: Msg
    delivery: Delivery[Any]
    attempts: int


def reason_of(error: Exception) -> str:
    """Return the reason that a dead letter records for the failure."""
    code = f" ({error.code})" if isinstance(error, MusterError) else ""
    return f"{type(error).__name__}{code}: {error}"


def is_final(error: Exception) -> bool:
    return isinstance(error, MusterError) and meaning_of(error).settlement == "dead_letter"


def span_of(names: str, group: Sequence[ReceivedMessage]) -> AbstractContextManager[object]:
    """Return the span for a group: a single message continues its trace; a batch starts a new one linked to all of theirs."""
    traces = [found.delivery.envelope.trace for found in group]
    if len(traces) == 1:
        return telemetry.span(f"handle {names}", parent=traces[0])
    return telemetry.span(f"handle {names}", parent={}, links=traces, count=len(traces))


def filter_of(message: type[Event] | type[Command]) -> str:
    return message.subject("*") if issubclass(message, Event) else message.subject()


def by_tenant(arrived: Sequence[ReceivedMessage]) -> list[tuple[TenantId, list[ReceivedMessage]]]:
    """Group messages by tenant, in order; the smallest group first, so that a busy tenant does not delay others."""
    groups: dict[TenantId, list[ReceivedMessage]] = {}
    for found in arrived:
        groups.setdefault(found.delivery.envelope.tenant, []).append(found)
    return sorted(groups.items(), key=lambda one: len(one[1]))
