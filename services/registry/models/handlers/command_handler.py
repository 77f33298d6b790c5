"""Commands that are answered one by one: what is refused is said by `operation.refused`, so that the caller's wait ends."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from pydantic import JsonValue

from services.registry.core.metadata import refuse_metadata
from services.registry.core.names import InputRefusal
from shared.bus import Delivery, Unit
from shared.errors import Conflict, Rejected
from shared.messages.base import Command
from shared.messages.experiments import OperationRefused

C = TypeVar("C", bound=Command)


def handle_each(
    carry_out: Callable[[Unit, Delivery[C]], Awaitable[None]],
) -> Callable[[Unit, list[Delivery[C]]], Awaitable[None]]:
    """Return a handler that carries out one command after the other. What a refused one wrote and emitted is undone."""

    async def on(unit: Unit, batch: list[Delivery[C]]) -> None:
        for delivery in batch:
            try:
                async with unit.attempt():
                    await carry_out(unit, delivery)
            except (Rejected, Conflict) as error:
                refused = OperationRefused(
                    operation_id=delivery.message.operation_id,
                    code=error.code,
                    message=error.message,
                    hint=error.hint,
                )
                unit.emit(refused, cause=delivery)

    return on


def check(refusal: InputRefusal | None, place: str | None = None) -> None:
    """Raises Rejected when there is a refusal."""
    if refusal:
        raise Rejected(refusal.code, refusal.reason, place=place)


def check_metadata(given: Mapping[str, JsonValue] | None) -> None:
    """Raises Rejected for metadata that is too large, or that Postgres cannot hold."""
    check(refuse_metadata(given) if given else None, "metadata")


def check_version(command: Command, version: int, what: str) -> None:
    """Raises Conflict when the command was made for another state of `what`."""
    if command.expected_version is not None and command.expected_version != version:
        raise Conflict("version_conflict", f"{what} has changed meanwhile; look at it and ask again")
