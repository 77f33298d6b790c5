"""Which of the states that an owner announces are news: each entity's versions rise, and only a higher one than what is known is taken over."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

_UNKNOWN = -1, None


class Versioned(Protocol):
    """A state of an entity, as its owner announces it."""

    @property
    def version(self) -> int: ...

    def to_bytes(self) -> bytes: ...


V = TypeVar("V", bound=Versioned)


@dataclass(frozen=True, slots=True)
class Applied(Generic[V]):
    """A newer version that was taken over; `before` is the state that was known, None for what was not."""

    message: V
    before: str | None


def newest_of(batch: Iterable[tuple[UUID, V]]) -> dict[UUID, V]:
    """What is left to be written, by entity: of several versions the highest."""
    newest: dict[UUID, V] = {}
    for entity, message in batch:
        before = newest.get(entity)
        if before is None or before.version < message.version:
            newest[entity] = message
    return newest


def newer_states(
    known: Mapping[UUID, tuple[int, str]], told: Iterable[tuple[UUID, str, V]]
) -> Iterator[Applied[V]]:
    """Those that are news, in order; several of one entity follow on each other.

    Args:
        known: version and state of each entity before.
        told: entity, state and message.
    """
    standing: dict[UUID, tuple[int, str | None]] = dict(known)
    for entity, state, message in told:
        version, before = standing.get(entity, _UNKNOWN)
        if version < message.version:
            yield Applied(message, before)
            standing[entity] = message.version, state
