"""What the delivery loop has fetched: a typed message with what acknowledges it, and how a batch is split and traced."""

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
    """A message with what acknowledges it, and how often it was delivered, for whatever reason."""

    raw: Msg
    delivery: Delivery[Any]
    attempts: int


def reason_of(error: Exception) -> str:
    """What a dead letter says of the failure."""
    code = f" ({error.code})" if isinstance(error, MusterError) else ""
    return f"{type(error).__name__}{code}: {error}"


def is_final(error: Exception) -> bool:
    return isinstance(error, MusterError) and meaning_of(error).settlement == "dead_letter"


def span_of(names: str, group: Sequence[ReceivedMessage]) -> AbstractContextManager[object]:
    """A single message goes on in its trace; a batch begins one that is linked to all of theirs."""
    traces = [found.delivery.envelope.trace for found in group]
    if len(traces) == 1:
        return telemetry.span(f"handle {names}", parent=traces[0])
    return telemetry.span(f"handle {names}", parent={}, links=traces, count=len(traces))


def filter_of(message: type[Event] | type[Command]) -> str:
    return message.subject("*") if issubclass(message, Event) else message.subject()


def by_tenant(arrived: Sequence[ReceivedMessage]) -> list[tuple[TenantId, list[ReceivedMessage]]]:
    """Group messages by tenant, each group in its order; the smallest group comes first, so that a busy tenant delays no other."""
    groups: dict[TenantId, list[ReceivedMessage]] = {}
    for found in arrived:
        groups.setdefault(found.delivery.envelope.tenant, []).append(found)
    return sorted(groups.items(), key=lambda one: len(one[1]))
