"""When a gang talks about stopping, and what a trial takes from user code."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muster import wire
from muster._trial.gang.stop_cadence import StopPollCadence
from muster._trial.standalone import load_hparams
from muster._trial.validation import Hyperparameters, check_metrics, check_step
from muster.errors import Rejected


def test_the_gang_asks_every_quarter_of_a_second() -> None:
    cadence, now, asked = StopPollCadence(), 0.0, []
    left = 0
    for _ in range(3000):
        now += 0.002
        cadence.on_call()
        left -= 1
        if left <= 0:
            asked.append(now)
            left = cadence.plan_calls(now, None)
    gaps = [later - earlier for earlier, later in pairwise(asked[8:])]
    assert all(0.2 <= gap <= 0.3 for gap in gaps)


@pytest.mark.parametrize("calls_per_validation", [1, 3, 50])
def test_a_decision_is_asked_for_in_the_call_that_follows_it(calls_per_validation: int) -> None:
    cadence, now, left, late = StopPollCadence(), 0.0, 0, []
    decide_at, validated = 6.0, 0
    for call in range(1, calls_per_validation * 40):
        if call % calls_per_validation == 0:
            validated += 1
            cadence.on_validation(float(validated))
        now += 0.0005
        cadence.on_call()
        left -= 1
        asks = left <= 0
        if asks:
            left = cadence.plan_calls(now, decide_at)
        if validated >= decide_at:
            late.append(0 if asks else 1)
            if asks:
                decide_at += 3.0
    assert len(late) >= 5
    assert sum(late) == 0


def test_slow_calls_ask_each_time() -> None:
    cadence = StopPollCadence()
    for now in (0.0, 1.0, 2.0, 3.0):
        cadence.on_call()
        assert cadence.plan_calls(now, None) == 1


def test_metrics_are_single_numbers() -> None:
    scalar = SimpleNamespace(__float__=lambda: 1.0)
    assert check_metrics({"a": 1, "b": 2.5, "c": True}) == {"a": 1.0, "b": 2.5, "c": 1.0}
    bads: tuple[Any, ...] = ("1", None, [1], {}, scalar, b"1")
    for bad in bads:
        with pytest.raises(Rejected) as refused:
            check_metrics({"loss": bad})
        assert refused.value.place == "loss"
    with pytest.raises(Rejected):
        check_metrics({})


def test_steps_are_whole_numbers() -> None:
    assert check_step(3) == 3
    for bad in (-1, 1.5, "3", None):
        with pytest.raises(Rejected):
            check_step(bad)


def test_hyperparameters_by_hand(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"b": 3}')
    given = load_hparams(
        {"MUSTER_HPARAMS": '{"a": 1, "b": 1}'},
        ["x", "--hparams", f"@{tmp_path}/h.json", '--hparams={"c": [1]}'],
    )
    assert given == {"a": 1, "b": 3, "c": [1]}
    for bad in ("{", "[1]", "@/nowhere"):
        with pytest.raises(Rejected):
            load_hparams({}, ["--hparams", bad])


def test_a_missing_hyperparameter_says_how_to_give_it() -> None:
    with pytest.raises(KeyError, match="--hparams"):
        Hyperparameters({"lr": 1})["momentum"]


def test_frames_survive_any_cut() -> None:
    frames: list[wire.Frame] = [
        wire.Hello("t", 0, 1),
        wire.ReportFrame(1, 2, 3, {"loss": float("inf")}, validation=1),
        wire.CheckpointFrame(1, 2, "/x", 1, {"a": [1, None]}),
        wire.Acknowledge("stop"),
    ]
    stream = b"".join(wire.encode(frame) for frame in frames)
    for size in (1, 3, 7, len(stream)):
        decoder = wire.Decoder(wire.RANK_FRAMES)
        found = [
            frame for at in range(0, len(stream), size) for frame in decoder.feed(stream[at : at + size])
        ]
        assert found == frames


def test_a_report_that_is_too_large_to_be_sent_says_what_helps() -> None:
    with pytest.raises(Rejected, match="report fewer metrics at a time"):
        wire.encode(wire.ReportFrame(1, 2, 3, {f"layer.{number}": 0.5 for number in range(300_000)}))


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b"nonsense", json.dumps({"t": "launch"}).encode(), json.dumps({"t": "hello"}).encode()],
)
def test_what_is_no_frame_is_refused(body: bytes) -> None:
    with pytest.raises(Rejected):
        list(wire.Decoder(wire.RANK_FRAMES).feed(len(body).to_bytes(4, "big") + body))


def test_a_frame_of_a_newer_peer_is_read_without_what_is_unknown() -> None:
    body = json.dumps({"t": "acknowledge", "signal": "stop", "news": 1}).encode()
    decoder = wire.Decoder(wire.RANK_FRAMES)
    assert list(decoder.feed(len(body).to_bytes(4, "big") + body)) == [wire.Acknowledge("stop")]


def test_an_endless_frame_is_refused() -> None:
    with pytest.raises(Rejected):
        list(wire.Decoder(wire.RANK_FRAMES).feed(b"\xff\xff\xff\xff"))
