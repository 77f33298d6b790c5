"""What a script says of hyperparameters that make no sense, as its worker reads it."""

from pathlib import Path

import pytest

import muster
from muster import wire


def test_a_script_run_by_hand_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("muster._trial._current", None)
    with pytest.raises(SystemExit) as ended:
        muster.trial().invalid("8 heads do not\ndivide 100")
    assert ended.value.code == wire.EXIT_INVALID
    said = capfd.readouterr().err
    assert said == "muster: invalid hyperparameters: 8 heads do not divide 100\n"
    assert wire.read_invalid(said.encode()) == "8 heads do not divide 100"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (b"", None),
        (b"Traceback (most recent call last):\nValueError: muster: invalid hyperparameters: x\n", None),
        (b"loading\n" + wire.invalid_text("too wide").encode() + b"\nbye\n", "too wide"),
        (wire.invalid_text("first").encode() + b"\n" + wire.invalid_text("last").encode(), "last"),
        (b"\xff\xfe\n" + wire.invalid_text("l\u00e4nge").encode(), "l\u00e4nge"),
    ],
)
def test_only_a_line_of_its_own_says_it(output: bytes, reason: str | None) -> None:
    assert wire.read_invalid(output) == reason


def test_a_reason_is_one_line_of_bounded_length() -> None:
    reason = wire.read_invalid(wire.invalid_text("a\r\nb" * 10_000).encode())
    assert reason is not None and reason.startswith("a ba b") and len(reason) == 1000
