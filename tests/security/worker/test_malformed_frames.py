"""What a trial sends to its rank socket, or leaves behind as unsent frames, ends no worker."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.integration.worker.test_executor_contract import ENDLESS
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(
    os.environ.get("CI") != "true" and os.geteuid() != 0, reason="needs root, as workers that make sandboxes"
)
HOSTILE = r"""
import json, os, socket, struct, time
from muster import wire
trial = json.load(open(os.environ[wire.ENV_TRIAL]))
folder = trial["checkpoints"] + "/1"
good = {"t": "checkpoint", "number": 1, "step": 1, "directory": folder, "after_report": 0}
point = {"t": "point", "number": 1, "step": 1, "time_ms": 1, "values": {"a": 1.0}}
frames = [
    good | {"number": "9"}, good | {"number": [1]}, good | {"number": 1.5}, good | {"number": 10**300}, good | {"number": float("nan")},
    good | {"step": None}, good | {"step": "x"}, good | {"parts": [1, None]}, good | {"parts": "x"}, good | {"parts": ["\ud800"]},
    good | {"metadata": {"\ud800": 1}}, good | {"metadata": [1]}, good | {"directory": folder + "\0"}, good | {"written_s": "x"},
    good | {"directory": trial["checkpoints"] + "/" + "x" * 5000}, good | {"directory": 7}, good | {"after_report": 10**300},
    point | {"number": "1"}, point | {"step": []}, point | {"step": 10**300}, point | {"values": [1]}, point | {"values": {"a": "b"}},
    point | {"values": {"\ud800": 1.0}}, point | {"group": "\ud800"}, point | {"time_ms": float("inf")}, point | {"validation": {}},
    {"t": "acknowledge", "signal": [1]}, {"t": "acknowledge", "signal": {}}, {"t": "acknowledge", "signal": None},
    {"t": "confirmed", "generation": "x"}, {"t": [1]}, {"t": None}, [1], None, 7,
]
tag = {kind.__name__: kind.TAG for kind in wire.RANK_FRAMES}
frames += [{"t": tag["Acknowledge"], "signal": [1]}, {"t": tag["StepMeasurements"], "step_s": "x"}, {"t": tag["GenerationConfirmed"], "generation": []}]
packed = []
for frame in frames:
    body = json.dumps(frame).encode()
    packed.append(struct.pack(">I", len(body)) + body)
for hello in ({"token": 7}, {"rank": []}, {"seat": "x"}, {"seat": 10**300}, {"version": "x"}, {"bell": {}}):
    body = json.dumps({"t": tag["Hello"], "token": os.environ[wire.ENV_TOKEN], "rank": 0, "pid": 1} | hello).encode()
    with wire.connect(trial["socket"], timeout_s=5) as server:
        server.sendall(struct.pack(">I", len(body)) + body)
        time.sleep(0.02)
for data in packed:
    for seat in (-1, 0):
        with wire.connect(trial["socket"], timeout_s=5) as server:
            server.sendall(wire.encode(wire.Hello(os.environ[wire.ENV_TOKEN], 0, os.getpid(), seat=seat)) + data)
            time.sleep(0.02)
LAST
raise SystemExit(3)
"""
LAST = {
    "in its socket": """
server = wire.connect(trial["socket"], timeout_s=5)
server.sendall(wire.encode(wire.Hello(os.environ[wire.ENV_TOKEN], 0, os.getpid())) + packed[0])
""",
    "in the file of unsent frames": """
with open(os.path.join(os.path.dirname(os.environ[wire.ENV_TRIAL]), "unsent.frames"), "wb") as unsent:
    unsent.write(packed[AT])
""",
}


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    daemon = daemons("frames")
    daemon.start(MUSTER_WORKER__SLOTS="2")
    await eventually(lambda: "frames" in platform.observed)
    return daemon


@pytest.mark.parametrize(
    ("what", "at"),
    [("in its socket", 0), *[("in the file of unsent frames", at) for at in (0, 3, 10, 14, 22)]],
)
async def test_malformed_frames_end_only_the_run_that_sends_them(
    platform: FakePlatform, worker: Daemon, what: str, at: int, tmp_path: Path
) -> None:
    print(f"tried: frames with wrong types and values, the last one ({at}) {what}; the neighbour trains on")
    one = (GangMember(worker="frames", slots=1),)
    near, hostile = tmp_path / "near", tmp_path / "hostile"
    for folder, script in ((near, ENDLESS), (hostile, HOSTILE.replace("LAST", LAST[what]))):
        folder.mkdir()
        (folder / "train.py").write_text(script.replace("AT]", f"{at}]"))
    stays = platform.allocation(f"stays {what} {at}", platform.add_code(near), one)
    attacks = platform.allocation(f"attacks {what} {at}", platform.add_code(hostile), one)
    await platform.desire("frames", stays, attacks)
    await eventually(lambda: state_of(platform, attacks, "frames") == "exited")
    found = platform.of("frames", attacks)
    assert found is not None
    assert (found.fault, found.exit_code) == ("user", 3), (found.reason, platform.text(attacks))
    seen = len(platform.steps(stays))
    await eventually(lambda: len(platform.steps(stays)) > seen + 10)
    assert not worker.has_ended
    await platform.desire("frames")
