"""What user code and machines do wrong: the run is told in words, the worker goes on."""

import os
import pwd
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.test_environments import wheel_in
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)


def _may_be_nobody() -> bool:
    """Whether this is root, and its Python can be read by others."""
    if os.geteuid() != 0:
        return False
    nobody = pwd.getpwnam("nobody")
    command = [sys.executable, "-I", "-c", "import wave, muster"]
    try:
        subprocess.run(command, user=nobody.pw_uid, group=nobody.pw_gid, cwd="/", check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


IS_NOBODY = _may_be_nobody()


@pytest.fixture(scope="module")
async def hostile(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    """A worker that, where it may, runs trials as another user."""
    daemon = daemons("h1")
    if IS_NOBODY:
        daemon.directory.chmod(0o711)
        for parent in daemon.directory.parents[:3]:
            parent.chmod(0o755)
        daemon.start(MUSTER_WORKER__USER="nobody")
    else:
        daemon.start()
    await eventually(lambda: "h1" in platform.observed)
    return daemon


def _code(tmp_path: Path, script: str) -> Path:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "train.py").write_text(script)
    return tmp_path


@pytest.mark.skipif(not IS_NOBODY, reason="needs root, and a Python that other users may read")
async def test_trials_run_as_another_user_without_reach(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    script = """
import os, muster
trial = muster.trial()
trial.report(1, uid=os.getuid(), groups=len(os.getgroups()))
def tried(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "could"
identity = os.path.join(os.path.dirname(os.environ["MUSTER_TRIAL"]), "../../identity")
print("identity", tried(lambda: os.listdir(identity)))
print("cache", tried(lambda: os.listdir(os.path.join(identity, "../cache"))))
print("others", tried(lambda: os.listdir(os.path.dirname(os.path.dirname(os.environ["MUSTER_TRIAL"])))))
print("become root", tried(lambda: os.setuid(0)))
print("kill parent", tried(lambda: os.kill(os.getppid(), 9)))
print("descriptors", sorted(os.listdir("/proc/self/fd"))[:3])
print("environment", sorted(name for name in os.environ if "NATS" in name or "JOIN" in name))
with trial.checkpoint(1) as folder:
    (folder / "x").write_text("x")
"""
    run = platform.allocation("user", platform.add_code(_code(tmp_path, script)), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: _state(platform, run) == "exited")
    await eventually(lambda: "environment" in platform.text(run))
    text = platform.text(run)
    assert platform.reports[run.run_id][1].values["uid"] == pwd.getpwnam("nobody").pw_uid
    for line in (
        "identity PermissionError",
        "cache PermissionError",
        "others PermissionError",
        "become root PermissionError",
        "kill parent PermissionError",
    ):
        assert line in text, text
    assert "descriptors ['0', '1', '2']" in text
    assert "environment []" in text
    await eventually(lambda: len(platform.saved_of(run)) == 1)
    assert platform.observed["h1"].isolated_user
    await platform.desire("h1")


@pytest.mark.skipif(not IS_NOBODY, reason="needs root, and a Python that other users may read")
async def test_what_a_trial_installs_is_run_by_its_own_user_alone(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    witness.write_text("")
    witness.chmod(0o666)
    for folder in (*tmp_path.parents[:3], tmp_path):
        folder.chmod(0o755)
    spy = f"import os; open({str(witness)!r}, 'a').write(f'{{os.getuid()}} ')\n"
    wheels = wheel_in(tmp_path / "wheels", {"spy.pth": spy, "wheelhouse.py": "", "horovod/__init__.py": spy})
    code = _code(tmp_path / "code", "import wheelhouse, muster\nmuster.trial().report(1, loss=1.0)\n")
    (code / "own.txt").write_text(f"--no-index\n--find-links {wheels}\nwheelhouse\n")
    run = platform.allocation("own", platform.add_code(code), ONE, spec={"requirements": "own.txt"})
    await platform.desire("h1", run)
    await eventually(lambda: _state(platform, run) == "exited")
    assert getattr(platform.of("h1", run), "reason", "lost") is None
    assert set(witness.read_text().split()) == {str(pwd.getpwnam("nobody").pw_uid)}
    (made,) = (hostile.directory / "environments").iterdir()
    assert all(path.stat().st_uid == 0 for path in (made, *made.rglob("*")) if not path.is_symlink())
    await platform.desire("h1")


async def test_a_full_disk_ends_the_run_with_its_reason(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    script = """
import muster, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, **{f"metric_{i}": float(i) for i in range(50)})
    time.sleep(0.001)
"""
    run = platform.allocation("disk", platform.add_code(_code(tmp_path, script)), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: len(platform.steps(run)) > 10)
    assert hostile.pid is not None
    resource.prlimit(hostile.pid, resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    await eventually(lambda: _state(platform, run) == "exited")
    resource.prlimit(hostile.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ended = platform.of("h1", run)
    assert ended is not None
    assert (ended.fault, ended.exit_code) == ("machine", None)
    assert "cannot write to its disk" in (ended.reason or "")
    await eventually(lambda: platform.steps(run) == list(range(1, ended.step + 1)))
    await platform.desire("h1")
    await eventually(lambda: platform.observed["h1"].drained)


async def test_a_rank_that_breaks_the_protocol_harms_only_itself(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    script = """
import json, os, muster
from muster import wire
trial = muster.trial()
described = wire.read_trial_file(os.environ["MUSTER_TRIAL"])
def say(*messages, token=os.environ["MUSTER_TOKEN"]):
    connection = wire.connect(described.socket, 5)
    connection.sendall(wire.encode(wire.Hello(token, 0, 1)))
    print(type(wire.receive(connection, wire.Decoder(wire.WORKER_FRAMES))).__name__)
    for message in messages:
        connection.sendall(message if isinstance(message, bytes) else wire.encode(message))
    connection.close()
say(token="guessed")
say(b"\\xff\\xff\\xff\\xff")
say(wire.ReportFrame(17, 1, 1, {"a": 1.0}))
say(wire.ReportFrame(1, 1, 1, {"a": "no number"}))
say(wire.CheckpointFrame(1, 1, "/etc", 0))
say(wire.Acknowledge("nonsense"))
print("done")
"""
    run = platform.allocation("protocol", platform.add_code(_code(tmp_path, script)), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: _state(platform, run) == "exited")
    await eventually(lambda: "done" in platform.text(run))
    answers = [line for line in platform.text(run).splitlines() if line in ("ConnectionRefused", "Welcome")]
    assert answers == ["ConnectionRefused", *["Welcome"] * 5]
    assert platform.reports[run.run_id] == {}
    assert platform.saved_of(run) == []
    ended = platform.of("h1", run)
    assert ended is not None
    assert ended.acknowledged is None
    await platform.desire("h1")


async def test_a_gigabyte_of_output_and_a_missing_newline(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    script = "import sys\nfor i in range(20000): print('line', i)\nsys.stdout.write('last words')\n"
    run = platform.allocation("chatty", platform.add_code(_code(tmp_path, script)), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: "last words" in platform.text(run))
    lines = platform.text(run).splitlines()
    assert lines == [*(f"line {number}" for number in range(20000)), "last words"]
    await platform.desire("h1")


def _state(platform: FakePlatform, run: object) -> str | None:
    found = platform.of("h1", run)  # type: ignore[arg-type]
    return found.state if found else None
