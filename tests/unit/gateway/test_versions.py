"""What of announced states is news, and what is left to be written of a batch."""

from dataclasses import dataclass
from uuid import UUID

from services.gateway.projections.versions import newer_states, newest_of

ONE, OTHER = UUID(int=1), UUID(int=2)


@dataclass(frozen=True)
class Announced:
    entity: UUID
    version: int
    state: str

    def to_bytes(self) -> bytes:
        return b""


def test_of_several_versions_in_a_batch_the_highest_is_written() -> None:
    batch = [
        Announced(ONE, 2, "active"),
        Announced(OTHER, 1, "queued"),
        Announced(ONE, 4, "completed"),
        Announced(ONE, 3, "active"),
    ]
    assert newest_of((announced.entity, announced) for announced in batch) == {ONE: batch[2], OTHER: batch[1]}


def test_versions_of_one_batch_are_news_one_after_the_other() -> None:
    batch = [Announced(ONE, 2, "active"), Announced(ONE, 3, "completed")]
    assert _news({ONE: (1, "queued")}, batch) == [(2, "queued"), (3, "active")]


def test_what_is_known_or_older_is_no_news() -> None:
    batch = [
        Announced(ONE, 2, "active"),
        Announced(ONE, 4, "completed"),
        Announced(ONE, 3, "active"),
        Announced(ONE, 4, "completed"),
    ]
    assert _news({ONE: (2, "active")}, batch) == [(4, "active")]


def test_of_what_was_not_known_any_version_is_news() -> None:
    assert _news({ONE: (7, "active")}, [Announced(OTHER, 1, "queued"), Announced(OTHER, 2, "running")]) == [
        (1, None),
        (2, "queued"),
    ]


def _news(known: dict[UUID, tuple[int, str]], batch: list[Announced]) -> list[tuple[int, str | None]]:
    triples = ((announced.entity, announced.state, announced) for announced in batch)
    return [(applied.message.version, applied.before) for applied in newer_states(known, triples)]
