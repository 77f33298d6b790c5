"""Signatures of messages: of one key, for one subject and payload."""

import pytest

from shared.auth.nats_jwt import KeyKind, new_seed
from shared.auth.signatures import MessageSigner, MessageVerifier

OURS, THEIRS = (MessageSigner(new_seed(KeyKind.ACCOUNT, bytes([number]) * 32)) for number in (1, 2))


def test_a_signature_is_for_one_key_subject_and_payload() -> None:
    signature = OURS.sign("wrk.v1.w.desired", b"{}")
    verifier = MessageVerifier(OURS.key)
    assert verifier.verify("wrk.v1.w.desired", b"{}", signature)
    assert not verifier.verify("wrk.v1.v.desired", b"{}", signature)
    assert not verifier.verify("wrk.v1.w.desired", b"{ }", signature)
    assert not verifier.verify("wrk.v1.w.desired", b"{}", THEIRS.sign("wrk.v1.w.desired", b"{}"))


@pytest.mark.parametrize("signature", ["", "?", "AAAA", "ä"])
def test_what_is_no_signature_verifies_nothing(signature: str) -> None:
    assert not MessageVerifier(OURS.key).verify("wrk.v1.w.desired", b"{}", signature)


def test_without_a_key_nothing_verifies() -> None:
    assert not MessageVerifier("").verify("s", b"", OURS.sign("s", b""))
    assert not MessageVerifier("not a key!").verify("s", b"", OURS.sign("s", b""))
