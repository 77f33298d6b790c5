"""What the worker hides of a run's secrets in its output."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from worker.core.masking import EVERYTHING, NO_SECRETS, Mask

VALUE = 'hf_q7J2/vXr+T0"bLw'
KEY = (
    "-----BEGIN KEY-----\n" + "\n".join(f"line{n}of{'k' * 50}{n}" for n in range(6)) + "\n-----END KEY-----\n"
)


@pytest.mark.parametrize(
    "printed",
    [
        VALUE,
        f"token={VALUE}!",
        base64.b64encode(VALUE.encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode(),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        quote(VALUE, safe=""),
        json.dumps({"token": VALUE}),
        repr({"token": VALUE}),
    ],
)
def test_a_value_and_its_encodings_are_hidden(printed: str) -> None:
    mask = Mask([VALUE])
    hidden = mask.hide(printed.encode())
    assert len(hidden) == len(printed.encode())
    assert b"********" in hidden and VALUE[3:9].encode() not in hidden
    assert mask.hide_in_line(printed) == hidden.decode()


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_base64_is_hidden_wherever_the_value_lies_in_it(before: bytes, after: bytes) -> None:
    printed = base64.b64encode(before + VALUE.encode() + after)
    hidden = Mask([VALUE]).hide(printed)
    # At most two characters on either side also hold bits of the neighbours.
    assert hidden.count(b"*") >= len(VALUE) * 4 // 3 - 2


def test_other_output_stays_as_it_is() -> None:
    mask = Mask([VALUE, KEY])
    for printed in ("epoch 3 loss 0.25", "********", "hf_q7J2", "-----", ""):
        assert mask.hide_in_line(printed) == printed
        assert mask.hide(printed.encode()) == printed.encode()
    assert NO_SECRETS.hide_in_line(VALUE) == VALUE


def test_each_line_of_a_key_is_hidden_by_itself() -> None:
    mask = Mask([KEY])
    for line in KEY.splitlines():
        assert set(mask.hide_in_line("  " + line)) == {"*"}
    wrapped = base64.encodebytes(KEY.encode()).decode().splitlines()
    assert len(wrapped) > 3 and all(set(mask.hide_in_line(line)) == {"*"} for line in wrapped)


def test_overlapping_values_are_hidden_together() -> None:
    assert Mask(["abcdefgh", "efghijkl"]).hide(b"-abcdefghijkl-") == b"-" + b"*" * 12 + b"-"


def test_everything_can_be_hidden_except_line_ends() -> None:
    assert EVERYTHING.hide(b"ab\nc\r\n") == b"**\n*\r\n"
    assert EVERYTHING.hide_in_line("ab") == "**"
