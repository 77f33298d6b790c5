"""Handling of commands one by one: a rejected command is answered by `operation.refused`, so that the caller stops waiting."""

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
    """Return a handler that carries out commands one by one. The writes and messages of a rejected command are undone."""

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
    """Raise Rejected if there is a refusal."""
    if refusal:
        raise Rejected(refusal.code, refusal.reason, place=place)


def check_metadata(given: Mapping[str, JsonValue] | None) -> None:
    """Raise Rejected for metadata that is too large or that Postgres cannot store."""
    check(refuse_metadata(given) if given else None, "metadata")


def check_version(command: Command, version: int, entity: str) -> None:
    """Raise Conflict if the command expects another version of the entity."""
    if command.expected_version is not None and command.expected_version != version:
        raise Conflict(
            "version_conflict",
            f"{entity} has changed since it was read; read it again and repeat the request",
        )
