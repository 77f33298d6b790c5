"""The private contract: the stored document is fresh, and within a version fields are only added."""

from pathlib import Path
from typing import Any

import pytest
import yaml

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
    assert streams.stream_of(subject)


def stored_schemas() -> list[tuple[str, dict[str, Any]]]:
    return sorted(yaml.safe_load(STORED.read_text())["components"]["schemas"].items())


@pytest.mark.parametrize(("name", "stored"), stored_schemas())
def test_fields_are_only_added(name: str, stored: dict[str, Any]) -> None:
    now = asyncapi.document()["components"]["schemas"][name]
    missing = set(stored.get("properties", {})) - set(now.get("properties", {}))
    demanded = set(now.get("required", [])) - set(stored.get("required", []))
    assert not missing, f"{name} lost fields that a running service of the version before still reads"
    assert not demanded, f"{name} demands fields that a running service of the version before does not send"
