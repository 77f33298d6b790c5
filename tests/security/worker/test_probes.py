"""What a hostile trial reaches of the machine, of its neighbour and of the platform: nothing. `probes.py` is the trial."""

import ctypes
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.worker import executors
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.processes import processes_in, processes_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as workers that make sandboxes")
MEMORY_BYTES, SHM_BYTES, RUN_BYTES, PROCESSES = 600 * 2**20, 64 * 2**20, 256 * 2**20, 64
LEAST_PROBES = 40
NETWORK_PROBES = {
    "connect to an abstract socket of the machine",
    "connect to a service on the machine's loopback",
    "connect to another gang's rendezvous",
    "connect to the cloud's metadata service",
    "connect to the metadata service by IPv6",
}
_IPC_CREATE = 0o1000
NEIGHBOUR = """
import muster, time
trial = muster.trial()
open("/dev/shm/of-neighbour", "w").write("mine")
for folder in ("/tmp", "/dev/shm", "."):
    open(f"{folder}/left-by-run-1", "w").write("code")
trial.report(1, loss=1.0)
time.sleep(1000.37)
"""


@pytest.fixture(
    scope="module", params=["root", "rootless", pytest.param("container", marks=executors.need_podman)]
)
async def executor(
    request: pytest.FixtureRequest, platform: FakePlatform
) -> AsyncIterator[executors.Executor]:
    """Sandboxes of processes with root and without, and containers."""
    async with executors.opened(request.param, platform) as made:
        yield made


@pytest.fixture(scope="module")
async def limited(
    executor: executors.Executor, platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> AsyncIterator[Daemon]:
    """A worker whose runs have small limits, so that a probe reaches them soon."""
    daemon = daemons(executor.worker(1))
    if executor.name == "rootless":
        daemon.become_unprivileged()
    limits = {
        "MUSTER_WORKER__SLOTS": "2",
        "MUSTER_WORKER__NETWORK": "auto" if executor.name == "rootless" else "private",
        "MUSTER_WORKER__SLOT_MEMORY_BYTES": str(MEMORY_BYTES),
        "MUSTER_WORKER__SLOT_PROCESSES": str(PROCESSES),
        "MUSTER_WORKER__RUN_BYTES": str(RUN_BYTES),
        "MUSTER_WORKER__SHM_BYTES": str(SHM_BYTES),
    }
    daemon.start(**executor.settings, **limits)
    await eventually(lambda: daemon.name in platform.observed)
    assert platform.observed[daemon.name].isolation == "sandbox"
    yield daemon
    daemon.stop()


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[dict[str, object]]:
    """What a trial might reach on this machine; all of it can be reached by any user without a sandbox."""
    public = Path(f"/tmp/muster-probe-{os.getpid()}")
    public.write_text("of the machine")
    public.chmod(0o644)
    shm = Path(f"/dev/shm/muster-probe-{os.getpid()}")
    shm.write_text("of the machine")
    shm.chmod(0o644)
    unix, tcp, rendezvous, abstract = (
        socket.socket(socket.AF_UNIX),
        socket.create_server(("127.0.0.1", 0)),
        socket.create_server(("127.0.0.1", 0)),
        socket.socket(socket.AF_UNIX),
    )
    path = f"/tmp/muster-probe-{os.getpid()}.sock"
    unix.bind(path)
    os.chmod(path, 0o777)
    unix.listen()
    name = f"muster-probe-{os.getpid()}"
    abstract.bind("\0" + name)
    abstract.listen()
    libc, key = ctypes.CDLL(None), 0x4D000000 + os.getpid()
    segment = libc.shmget(key, 4096, _IPC_CREATE | 0o666)
    try:
        yield {
            "public_file": str(public),
            "tmp_file": str(public),
            "shm_file": str(shm),
            "shm_key": key,
            "unix": path,
            "abstract": name,
            "tcp": tcp.getsockname()[1],
            "rendezvous": rendezvous.getsockname()[1],
            "disk": "/dev/vda",
        }
    finally:
        libc.shmctl(segment, 0, None)
        for one in (unix, tcp, rendezvous, abstract):
            one.close()
        for file in (public, shm, Path(path)):
            file.unlink(missing_ok=True)


async def test_a_trial_reaches_nothing_outside_its_sandbox(
    executor: executors.Executor,
    platform: FakePlatform,
    limited: Daemon,
    targets: dict[str, object],
    tmp_path: Path,
) -> None:
    near, hostile = tmp_path / "near", tmp_path / "hostile"
    for folder in (near, hostile):
        folder.mkdir()
    (near / "train.py").write_text(NEIGHBOUR)
    shutil.copy(Path(__file__).with_name("probes.py"), hostile / "train.py")
    name = limited.name
    sized = {"container": {"shm_bytes": SHM_BYTES}} if executor.podman else {}
    neighbour = executor.run("neighbour", near, spec=sized)
    await platform.desire(name, neighbour)
    await eventually(lambda: bool(platform.steps(neighbour)))
    other = limited.directory / "runs" / str(neighbour.run_id)
    # The first is init.
    other_pid = max(processes_in(other))
    given = targets | {
        "worker": str(limited.directory),
        "other_run": str(other),
        "other_pid": other_pid,
        "daemon_pid": limited.pid,
        "memory_bytes": MEMORY_BYTES,
        "shm_bytes": SHM_BYTES,
        "run_bytes": RUN_BYTES,
    }
    attacker = executor.run("hostile", hostile, spec={"hyperparameters": given} | sized)
    await platform.desire(name, neighbour, attacker)
    await eventually(lambda: state_of(platform, attacker, name) == "exited", timeout_s=120)
    await eventually(lambda: bool(platform.text(attacker)))
    text = platform.text(attacker)
    print(text)
    assert "escape-test" in text
    lines = [line for line in text.splitlines() if "probe: " in line]
    # Without root, runs have the machine's network, as the worker reports.
    allowed = NETWORK_PROBES if limited.before else set()
    reached = {line.partition("probe: ")[2].partition(":")[0] for line in lines if "REACHED" in line}
    assert reached <= allowed
    observed = platform.of(name, attacker)
    assert observed is not None and observed.exit_code == 0, "it did not stop what started it"
    assert len(lines) >= LEAST_PROBES, text
    assert "\x1b" not in text and "\x07" not in text
    assert _user_of(other_pid) == _owner(other / "home"), "the neighbour trains on"
    assert state_of(platform, neighbour, name) == "running"
    if not limited.before:
        assert _owner(other / "home") != _owner(limited.directory / "runs" / str(attacker.run_id) / "home")
    await platform.desire(name)


async def test_everything_of_a_run_ends_with_it(
    executor: executors.Executor, platform: FakePlatform, limited: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("""
import muster, os, signal, subprocess
trial = muster.trial()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.execvp("/bin/sleep", ["sleep", "1000.99"])
trial.report(1, loss=1.0)
""")
    name, run = limited.name, executor.run("daemons", tmp_path)
    await platform.desire(name, run)
    await eventually(lambda: state_of(platform, run, name) == "exited")
    await platform.desire(name)
    await eventually(lambda: not processes_of("sleep 1000.99"))
    user = re.compile(rf"\b{run.run_id}\b")
    await eventually(
        lambda: not any(user.search(path.name) for path in (limited.directory / "runs").iterdir())
    )


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _user_of(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1
