"""The outside of a message: what is written is read again, what is broken is refused, a dead letter can be sent again."""

from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from nats.aio.msg import Msg

from shared.bus import Envelope
from shared.bus.dead_letters import BECAUSE, dead_letter, replayed
from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, TenantId, derived_id

MESSAGE = derived_id(DEFAULT_TENANT, "message")


@dataclass
class Sequence:
    stream: int = 7


@dataclass
class Metadata:
    stream: str = "EVT"
    sequence: Sequence = field(default_factory=Sequence)


@dataclass
class Raw:
    headers: dict[str, str]
    subject: str = "evt.v1.t.trial.requested"
    metadata: Metadata = field(default_factory=Metadata)


@given(st.uuids(), st.uuids(), st.none() | st.uuids(), st.none() | st.uuids(), st.integers(1, 99))
def test_headers_say_all_of_an_envelope(
    message: UUID, tenant: UUID, correlation: UUID | None, causation: UUID | None, version: int
) -> None:
    envelope = Envelope(
        message,
        "trial.requested",
        version,
        TenantId(tenant),
        correlation,
        causation,
        {"traceparent": "00-a-b-01"},
    )
    assert Envelope.from_headers(envelope.to_headers()) == envelope


@pytest.mark.parametrize("header", ["Nats-Msg-Id", "Muster-Type", "Muster-Version", "Muster-Tenant"])
@pytest.mark.parametrize("change", ["missing", "broken"])
def test_a_missing_or_broken_header_is_refused(header: str, change: str) -> None:
    headers = Envelope(MESSAGE, "trial.requested", 1, DEFAULT_TENANT).to_headers()
    if change == "missing":
        del headers[header]
    elif header == "Muster-Type":
        return  # any word is a type
    else:
        headers[header] = "?"
    with pytest.raises(Rejected) as refusal:
        Envelope.from_headers(headers)
    assert refusal.value.code == "bad_envelope"


def test_a_replay_keeps_the_message_and_passes_the_duplicate_window() -> None:
    envelope = Envelope(MESSAGE, "trial.requested", 1, DEFAULT_TENANT)
    letter = dead_letter(cast(Msg, Raw(envelope.to_headers())), "searcher", "it\nbroke")
    assert letter[BECAUSE] == "it broke"
    again = replayed(letter, 3)
    assert again.subject == "evt.v1.t.trial.requested"
    assert Envelope.from_headers(again.headers) == envelope
    assert again.headers["Nats-Msg-Id"] not in (str(MESSAGE), letter["Nats-Msg-Id"])
    assert not [name for name in again.headers if name.startswith("Muster-Dead")]


def test_a_replay_that_dies_again_is_another_letter_about_the_same_message() -> None:
    first = dead_letter(
        cast(Msg, Raw(Envelope(MESSAGE, "t", 1, DEFAULT_TENANT).to_headers())), "searcher", "a"
    )
    sent = Raw(replayed(first, 3).headers, metadata=Metadata(sequence=Sequence(8)))
    second = dead_letter(cast(Msg, sent), "searcher", "b")
    assert second["Muster-Dead-Id"] == str(MESSAGE)
    assert second["Nats-Msg-Id"] != first["Nats-Msg-Id"]
    assert replayed(second, 4).headers["Muster-Id"] == str(MESSAGE)


def test_one_delivery_has_one_letter_however_often_it_is_buried() -> None:
    raw = cast(Msg, Raw(Envelope(MESSAGE, "t", 1, DEFAULT_TENANT).to_headers()))
    assert (
        dead_letter(raw, "searcher", "a")["Nats-Msg-Id"] == dead_letter(raw, "searcher", "b")["Nats-Msg-Id"]
    )
    assert dead_letter(raw, "gateway", "a")["Nats-Msg-Id"] != dead_letter(raw, "searcher", "a")["Nats-Msg-Id"]
