"""Selects the newer states among the published ones: an entity's versions increase, and only higher versions are applied."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

_UNKNOWN = -1, None


class Versioned(Protocol):
    """A state of an entity, as its owner publishes it."""

    @property
    def version(self) -> int: ...

    def to_bytes(self) -> bytes: ...


V = TypeVar("V", bound=Versioned)


@dataclass(frozen=True, slots=True)
class Applied(Generic[V]):
    """A newer state that was applied. `before`: the previous state; None if the entity was not known."""

    message: V
    before: str | None


def newest_of(batch: Iterable[tuple[UUID, V]]) -> dict[UUID, V]:
    """Return the highest version of each entity in a batch."""
    newest: dict[UUID, V] = {}
    for entity, message in batch:
        before = newest.get(entity)
        if before is None or before.version < message.version:
            newest[entity] = message
    return newest


def newer_states(
    known: Mapping[UUID, tuple[int, str]], announced: Iterable[tuple[UUID, str, V]]
) -> Iterator[Applied[V]]:
    """Yield the newer states in order. Several states of one entity build on each other.

    Args:
        known: previous version and state of each entity.
        announced: entity, state and message of each published state.
    """
    current: dict[UUID, tuple[int, str | None]] = dict(known)
    for entity, state, message in announced:
        version, before = current.get(entity, _UNKNOWN)
        if version < message.version:
            yield Applied(message, before)
            current[entity] = message.version, state
