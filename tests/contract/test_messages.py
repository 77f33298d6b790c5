"""The private contract: the stored document is fresh, and every message has its place."""

from pathlib import Path

import pytest

from shared.bus import streams
from shared.messages import asyncapi, catalogue
from shared.messages.base import Command, Event

STORED = Path(__file__).parents[2] / "docs" / "asyncapi.yaml"


def test_the_stored_document_is_fresh() -> None:
    assert STORED.read_text() == asyncapi.text(), "run `make gen` and commit docs/asyncapi.yaml"


def test_types_are_told_apart() -> None:
    assert len(catalogue.BY_TYPE) == len(catalogue.ALL)


@pytest.mark.parametrize("message", [m for m in catalogue.ALL if issubclass(m, Event | Command)])
def test_every_stored_message_has_a_stream(message: type[Event] | type[Command]) -> None:
    subject = message.subject("t") if issubclass(message, Event) else message.subject()
    assert streams.stream_of(subject).name
