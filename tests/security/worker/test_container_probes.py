"""The same attacks from inside a container, whose warm parent belongs to the attacker."""

import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.conftest import heard
from tests.integration.worker.containers import Podman, start_podman
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.integration.worker.test_containers import in_container, pytestmark
from tests.security.worker.test_probes import (
    LEAST_PROBES,
    MEMORY_BYTES,
    NEIGHBOUR,
    PROCESSES,
    RUN_BYTES,
    SHM_BYTES,
    targets,
)
from tests.support.oci import Registry
from tests.support.processes import processes_of
from tests.support.waiting import eventually

__all__ = ["pytestmark", "targets"]
OWN_PARENT = (
    "leave by the root of process 1",
    "read the environment of process 1",
    "trace process 1",
    "read the memory of process 1 by system call",
)
"""Process 1 is the run's own warm parent: the worker takes it for the run's, and it has no more rights, files or secrets."""
ONE = (GangMember(worker="c1", slots=1),)


@pytest.fixture(scope="module")
async def podman() -> AsyncIterator[Podman]:
    registry = Registry()
    await registry.start()
    registry.add("team/python:1")
    made = start_podman(registry)
    yield made
    made.clear_away()
    await registry.stop()


@pytest.fixture(scope="module")
async def limited(platform: FakePlatform, daemons: Callable[[str], Daemon], podman: Podman) -> Daemon:
    settings = {
        "MUSTER_WORKER__SLOTS": "2",
        "MUSTER_WORKER__SLOT_MEMORY_BYTES": str(MEMORY_BYTES),
        "MUSTER_WORKER__SLOT_PROCESSES": str(PROCESSES),
        "MUSTER_WORKER__RUN_BYTES": str(RUN_BYTES),
    }
    return await heard(platform, daemons("c1"), **podman.settings, **settings)


async def test_a_trial_reaches_nothing_outside_its_container(
    platform: FakePlatform, limited: Daemon, podman: Podman, targets: dict[str, object], tmp_path: Path
) -> None:
    near, hostile = tmp_path / "near", tmp_path / "hostile"
    for folder in (near, hostile):
        folder.mkdir()
    (near / "train.py").write_text(NEIGHBOUR)
    shutil.copy(Path(__file__).with_name("probes.py"), hostile / "train.py")
    image = f"{podman.registry.address}/team/python:1"
    sized = {"shm_bytes": SHM_BYTES}
    neighbour = in_container(platform, "near container", near, image, ONE, container=sized)
    await platform.desire("c1", neighbour)
    await eventually(lambda: bool(platform.steps(neighbour)), timeout_s=120)
    other = limited.directory / "runs" / str(neighbour.run_id)
    other_user = (other / "home").stat().st_uid
    other_pid = next(
        pid for pid in processes_of("muster.runtime") if Path(f"/proc/{pid}").stat().st_uid == other_user
    )
    given = targets | {
        "worker": str(limited.directory),
        "other_run": str(other),
        "other_pid": other_pid,
        "daemon_pid": limited.pid,
        "memory_bytes": MEMORY_BYTES,
        "shm_bytes": SHM_BYTES,
        "run_bytes": RUN_BYTES,
        "own_network": False,
    }
    attacker = in_container(
        platform,
        "hostile container",
        hostile,
        image,
        ONE,
        container=sized,
        hyperparameters=json.loads(json.dumps(given)),
    )
    await platform.desire("c1", neighbour, attacker)
    await eventually(lambda: state_of(platform, attacker, "c1") == "exited", timeout_s=180)
    await eventually(lambda: "probe: " in platform.text(attacker))
    text = platform.text(attacker)
    print(text)
    lines = [line for line in text.splitlines() if "probe: " in line]
    reached = [line for line in lines if "REACHED" in line]
    assert [line for line in reached if not any(f"probe: {name}" in line for name in OWN_PARENT)] == []
    assert len(lines) >= LEAST_PROBES, text
    assert "\x1b" not in text and "\x07" not in text
    assert state_of(platform, neighbour, "c1") == "running"
    await platform.desire("c1")
    await eventually(lambda: podman.containers() == [])
