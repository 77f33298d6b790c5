"""What a trial sends or leaves to its worker in the ranks' protocol ends at most its own run: the worker and its other runs go on."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)
NEIGHBOUR = """
import muster, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, loss=1.0)
    time.sleep(0.05)
"""
SENDS = """
import json, os, struct, time, muster
from muster import wire
trial = muster.trial()
described = wire.read_trial_file(os.environ["MUSTER_TRIAL"])
run = os.path.dirname(os.environ["MUSTER_TRIAL"])
text = FRAME.replace("CHECKPOINTS", run + "/checkpoints")
body = text.encode()
frame = struct.pack(">I", len(body)) + body
os.makedirs(run + "/checkpoints/a", exist_ok=True)
open(run + "/checkpoints/a/x", "w").write("x")
for hello in (wire.Hello(os.environ["MUSTER_TOKEN"], 0, 1), wire.Hello(os.environ["MUSTER_TOKEN"], 0, 1, seat=0)):
    connection = wire.connect(described.socket, 5)
    connection.sendall(wire.encode(hello) + frame)
    bell = wire.connect(described.socket, 5)
    bell.sendall(wire.encode(wire.Hello(os.environ["MUSTER_TOKEN"], 0, 1, bell=True)) + b"!")
    time.sleep(0.3)
open(run + "/unsent.frames", "wb").write(frame)
print("sent", flush=True)
os._exit(0)
"""
POINT = {"t": "point", "number": 1, "step": 1, "time_ms": 1, "values": {"loss": 1.0}}
CHECKPOINT = {"t": "checkpoint", "number": 1, "step": 1, "directory": "CHECKPOINTS/a", "after_report": 0}
MEASURED = {
    "t": "measured", "step_s": 1.0, "per_rank": 1, "first_batch": 1, "last_batch": 1, "least_per_rank": 1,
    "most_per_rank": 1, "grad_sqr": 1.0, "grad_var": 1.0,
}  # fmt: skip


def deep(depth: int) -> str:
    nested: object = 1
    for _ in range(depth):
        nested = [nested]
    return json.dumps(CHECKPOINT | {"metadata": {"a": nested}})


FRAMES = {
    "a number of a report that is a text": json.dumps(POINT | {"number": "1"}),
    "a step that is a text": json.dumps(POINT | {"step": "1"}),
    "a step beyond 64 bits": json.dumps(POINT | {"step": 2**70}),
    "a step too large for a float": json.dumps(POINT | {"step": 10**400}),
    "a time that is a list": json.dumps(POINT | {"time_ms": []}),
    "a time beyond 64 bits": json.dumps(POINT | {"time_ms": 10**400}),
    "a group with half a character": json.dumps(POINT | {"group": "\ud800"}),
    "a metric with half a character": json.dumps(POINT | {"values": {"\ud800": 1.0}}),
    "values that are a list": json.dumps(POINT | {"values": [1]}),
    "a number of a checkpoint that is a text": json.dumps(CHECKPOINT | {"number": "1"}),
    "a number of a checkpoint beyond 64 bits": json.dumps(CHECKPOINT | {"number": 2**70}),
    "a step of a checkpoint that is a text": json.dumps(CHECKPOINT | {"step": "x"}),
    "a step of a checkpoint beyond 64 bits": json.dumps(CHECKPOINT | {"step": 2**70}),
    "a folder with half a character": json.dumps(CHECKPOINT | {"directory": "CHECKPOINTS/\ud800"}),
    "a folder elsewhere with half a character": json.dumps(CHECKPOINT | {"directory": "/\ud800"}),
    "a folder with a NUL": json.dumps(CHECKPOINT | {"directory": "CHECKPOINTS/a\0b"}),
    "a folder with a very long name": json.dumps(CHECKPOINT | {"directory": "CHECKPOINTS/" + "a" * 10_000}),
    "a folder that is a number": json.dumps(CHECKPOINT | {"directory": 1}),
    "metadata that are a list": json.dumps(CHECKPOINT | {"metadata": [1]}),
    "metadata with half a character": json.dumps(CHECKPOINT | {"metadata": {"a": "\ud800"}}),
    "metadata with a NUL": json.dumps(CHECKPOINT | {"metadata": {"a\0": "\0"}}),
    **{f"metadata of depth {depth}": deep(depth) for depth in (190, 230, 260, 900)},
    "parts that are a number": json.dumps(CHECKPOINT | {"parts": 1}),
    "parts of strangers": json.dumps(CHECKPOINT | {"parts": ["w1", "\ud800", "."]}),
    "a duration that is no number": json.dumps(CHECKPOINT | {"written_s": float("nan")}),
    "an acknowledged list": json.dumps({"t": "acknowledge", "signal": ["stop"]}),
    "measurements that are texts": json.dumps(MEASURED | {"step_s": "x"}),
    "measurements that are no numbers": json.dumps(
        MEASURED | {"step_s": float("nan"), "grad_var": float("inf")}
    ),
    "a generation that is a text": json.dumps({"t": "seated", "generation": "1"}),
    "a hello with a list": json.dumps({"t": "hello", "token": [], "rank": 0, "pid": 1}),
    "a type that is a list": json.dumps({"t": ["point"]}),
    "no object": "[1]",
}


@pytest.fixture(scope="module")
async def hostile(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    return await heard(platform, daemons("w1"), MUSTER_WORKER__SLOTS="2")


@pytest.fixture(scope="module")
async def neighbour(
    platform: FakePlatform, hostile: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DesiredAllocation]:
    code = platform.add_code(code_in(tmp_path_factory.mktemp("near"), NEIGHBOUR))
    run = platform.allocation("neighbour", code, ONE)
    await platform.desire("w1", run)
    await eventually(lambda: bool(platform.steps(run)))
    yield run
    await platform.desire("w1", run.model_copy(update={"signal": Signal.KILL}))
    await eventually(lambda: state_of(platform, run) == "exited")
    await platform.desire("w1")


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
async def test_a_frame_harms_its_own_run_only(
    platform: FakePlatform, hostile: Daemon, neighbour: DesiredAllocation, tmp_path: Path, frame: str
) -> None:
    run = await harms_nobody(
        platform, hostile, neighbour, tmp_path, SENDS.replace("FRAME", repr(frame)), frame
    )
    found = platform.of("w1", run)
    assert found is None or (abs(found.step) < 2**63 and found.checkpoints < 2**31)


UNSENT = """
import os
path = os.path.join(os.path.dirname(os.environ["MUSTER_TRIAL"]), "unsent.frames")
os.truncate(path, 512 << 20)
print("sent", flush=True)
"""


async def test_a_large_file_of_unsent_frames_is_not_read_into_memory(
    platform: FakePlatform, hostile: Daemon, neighbour: DesiredAllocation, tmp_path: Path
) -> None:
    before = peak_bytes(hostile)
    await harms_nobody(platform, hostile, neighbour, tmp_path, UNSENT, "large unsent file")
    assert peak_bytes(hostile) - before < 200 << 20


FLOOD = """
import os, socket, time
from muster import wire
described = wire.read_trial_file(os.environ["MUSTER_TRIAL"])
until = time.monotonic() + 4
for _ in range(2):
    if os.fork() == 0:
        kept = []
        while time.monotonic() < until:
            try:
                client = socket.socket(socket.AF_UNIX)
                client.settimeout(0.2)
                client.connect(described.socket)
                HELLO
                kept.append(client)
            except OSError:
                time.sleep(0.001)
        os._exit(0)
for _ in range(2):
    os.wait()
print("sent", flush=True)
"""
HELLOS = {
    "silent connections": "",
    "half a hello": "client.sendall(b'\\0\\0')",
    "connections of many seats": "client.sendall(wire.encode(wire.Hello(os.environ['MUSTER_TOKEN'], 0, 1, seat=len(kept) + 1000 * os.getpid())))",
    "closed at once": "client.close()",
}


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS)
async def test_connections_do_not_use_up_the_workers_descriptors(
    platform: FakePlatform, hostile: Daemon, neighbour: DesiredAllocation, tmp_path: Path, hello: str
) -> None:
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, len(list(Path(f"/proc/{hostile.pid}/fd").iterdir())))

    await harms_nobody(
        platform,
        hostile,
        neighbour,
        tmp_path,
        FLOOD.replace("HELLO", hello or "pass"),
        "flood " + hello,
        look,
    )
    print("descriptors at most", most)
    assert most < 400


async def harms_nobody(
    platform: FakePlatform,
    daemon: Daemon,
    neighbour: DesiredAllocation,
    tmp_path: Path,
    script: str,
    name: str,
    look: Callable[[], None] = lambda: None,
) -> DesiredAllocation:
    """Run the script beside the neighbour, and expect that it ends, leaves nothing behind, and changes nothing else."""
    pid = daemon.pid
    run = platform.allocation(name, platform.add_code(code_in(tmp_path, script)), ONE)
    await platform.desire("w1", neighbour, run)

    def is_over() -> bool:
        look()
        return state_of(platform, run) == "exited"

    await eventually(is_over)
    await eventually(lambda: "sent" in platform.text(run))
    steps = len(platform.steps(neighbour))
    await eventually(lambda: len(platform.steps(neighbour)) > steps + 5)
    await platform.desire("w1", neighbour)
    await eventually(lambda: not (daemon.directory / "runs" / str(run.run_id)).exists())
    assert (daemon.pid, daemon.has_ended) == (pid, False)
    assert state_of(platform, neighbour) == "running"
    return run


def peak_bytes(daemon: Daemon) -> int:
    status = Path(f"/proc/{daemon.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
