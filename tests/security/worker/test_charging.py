"""What a trial has done itself is charged to its user: otherwise its failures would be repeated without end, at no cost."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shared.messages.allocations import ObservedAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker import executors
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(
    os.environ.get("CI") != "true" and os.geteuid() != 0, reason="needs root, as workers that make sandboxes"
)
HOOKS = {
    "closes its code folder": "chmod 000 .",
    "closes the folder of its logs": "chmod 000 ../logs",
    "removes its output and closes the folder": "rm ../logs/*; chmod 555 ../logs",
    "replaces its output by folders": "rm ../logs/*; mkdir ../logs/0.stdout ../logs/0.stderr",
    "replaces its output by links": "rm ../logs/*; ln -s /etc/passwd ../logs/0.stdout",
    "gives its output a second name": "ln ../logs/0.stdout ../logs/again",
    "removes its code": "rm -rf ../code/*",
}
SCRIPTS = {
    "ends as if the machine had failed": "raise SystemExit(73)",
    "ends as if the disk had been full": "raise SystemExit(74)",
    "says that the disk is full": "raise OSError(28, 'No space left on device')",
    "fills its shared memory": "open('/dev/shm/all', 'wb').write(bytes(200 * 2**20))",
    "announces a checkpoint that no file name can hold": """
import json, os, socket, time
from muster import wire
trial = json.load(open(os.environ[wire.ENV_TRIAL]))
with wire.connect(trial["socket"], timeout_s=5) as server:
    server.sendall(wire.encode(wire.Hello(os.environ[wire.ENV_TOKEN], 0, os.getpid())))
    server.recv(4096)
    folder = trial["checkpoints"] + "/1"
    server.sendall(wire.encode(wire.CheckpointFrame(10**300, 1, folder, 0)))
    time.sleep(2)
raise SystemExit(3)
""",
}
KILLS_PARENT = """
import ctypes, os
seize, kill_on_exit = 0x4206, 0x100000
assert ctypes.CDLL(None).ptrace(seize, 1, None, ctypes.c_void_p(kill_on_exit)) == 0
os._exit(0)
"""
SPOILS_RESTART = """
rm -rf ../home/.ssh; ln -s /etc ../home/.ssh
touch hooked; chmod 000 ../home .
sleep 2
"""
SMALL = {"MUSTER_WORKER__SHM_BYTES": str(64 * 2**20)}


@pytest.fixture(scope="module", params=["root", "rootless"])
async def worker(
    request: pytest.FixtureRequest, platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> AsyncIterator[Daemon]:
    daemon = daemons(f"charging-{request.param}")
    if request.param == "rootless":
        daemon.become_unprivileged()
    daemon.start(**SMALL)
    await eventually(lambda: daemon.name in platform.observed)
    assert platform.observed[daemon.name].isolation == "sandbox"
    yield daemon
    daemon.stop()


async def end_of(
    platform: FakePlatform, worker: Daemon, name: str, folder: Path, slots: int = 1
) -> ObservedAllocation:
    members = (GangMember(worker=worker.name, slots=slots),)
    run = platform.allocation(f"{worker.name} {name}", platform.add_code(folder), members)
    await platform.desire(worker.name, run)
    await eventually(lambda: state_of(platform, run, worker.name) == "exited")
    found = platform.of(worker.name, run)
    assert found is not None
    return found


@pytest.mark.parametrize("what", HOOKS)
async def test_a_hook_that_spoils_the_start_of_its_ranks_is_charged(
    platform: FakePlatform, worker: Daemon, what: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    (tmp_path / "startup-hook.sh").write_text(HOOKS[what])
    found = await end_of(platform, worker, what, tmp_path)
    print(f"tried: a hook that {what}; the run ended with: {found.reason}")
    assert found.fault == "user", found.reason


@pytest.mark.parametrize("what", SCRIPTS)
async def test_a_script_cannot_blame_the_machine(
    platform: FakePlatform, worker: Daemon, what: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(SCRIPTS[what])
    found = await end_of(platform, worker, what, tmp_path)
    print(f"tried: a script that {what}; the run ended with: {found.reason}")
    assert found.fault == "user", found.reason


async def test_the_reason_says_which_folder_the_trial_has_closed(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    (tmp_path / "startup-hook.sh").write_text("chmod 000 .")
    found = await end_of(platform, worker, "reason", tmp_path)
    assert "Permission denied" in (found.reason or "") and "/code'" in (found.reason or ""), found.reason


@pytest.mark.parametrize("secrets", [[], [{"name": "SSH_KEY", "file": ".ssh/id"}]])
async def test_a_hook_that_spoils_the_work_of_a_restarted_daemon_is_charged(
    platform: FakePlatform, worker: Daemon, secrets: list[dict[str, str]], tmp_path: Path
) -> None:
    platform.secrets, platform.secret_keys = {"SSH_KEY": "key"}, {worker.name: worker.user_key}
    (tmp_path / "train.py").write_text("print('trained')\n")
    (tmp_path / "startup-hook.sh").write_text(SPOILS_RESTART)
    members = (GangMember(worker=worker.name, slots=1),)
    name, spec = f"{worker.name} restart {len(secrets)}", {"secrets": secrets}
    run = platform.allocation(name, platform.add_code(tmp_path), members, spec=spec)
    await platform.desire(worker.name, run)
    hooked = worker.directory / "runs" / str(run.run_id) / "code" / "hooked"
    await eventually(hooked.exists)
    worker.kill()
    worker.start_again()
    await eventually(lambda: state_of(platform, run, worker.name) == "exited")
    found = platform.of(worker.name, run)
    assert found is not None
    print(f"tried: a hook that closes folders while the daemon restarts; the run ended with: {found.reason}")
    assert found.fault == "user", found.reason


@executors.need_podman
async def test_a_trial_that_ends_the_warm_parent_of_its_container_is_charged(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    print(
        "tried: to take process 1 of the container along by tracing it; its end would be a fault of the machine"
    )
    (tmp_path / "train.py").write_text(KILLS_PARENT)
    async with executors.opened("container", platform) as executor:
        daemon = daemons(executor.worker(9))
        daemon.start(**executor.settings)
        await eventually(lambda: daemon.name in platform.observed)
        run = executor.run("ends its parent", tmp_path, (9,))
        await platform.desire(daemon.name, run)
        await eventually(lambda: state_of(platform, run, daemon.name) == "exited")
        found = platform.of(daemon.name, run)
        assert found is not None
        assert found.fault == "user", found.reason
        daemon.stop()
