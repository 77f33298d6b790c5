"""Workers without root: what they report where the kernel refuses sandboxes, and links in the way of a sandbox's mounts."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from muster import wire
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import begin_gang
from tests.support.processes import processes_in
from tests.support.unprivileged import GROUP, USER, WITHOUT_NAMESPACES, as_unprivileged
from tests.support.waiting import eventually
from tests.support.warm import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
GANG = """
import muster, os, time, torch
import horovod.torch as hvd
trial = muster.trial()
hvd.init()
step = 0
while True:
    step += 1
    total = hvd.allreduce(torch.ones(1), op=hvd.Sum)
    assert total.item() == 2
    trial.report(step, total=float(total))
    time.sleep(0.05)
"""


async def test_a_worker_that_can_make_no_sandbox_says_so(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    print("tried: a worker without root where namespaces are refused; it reports that it isolates nothing")
    daemon = daemons("refused")
    daemon.become_unprivileged(sys.executable, "-c", WITHOUT_NAMESPACES)
    daemon.start()
    await eventually(lambda: daemon.name in platform.observed)
    reported = platform.observed[daemon.name]
    assert reported.isolation == "none" and not reported.isolated_user
    assert "cannot make sandboxes: the kernel refuses a user namespace: " in reported.isolation_detail
    assert "Operation not permitted" in reported.isolation_detail
    kept = json.loads((daemon.directory / "isolation.json").read_text())
    assert kept["detail"] == reported.isolation_detail, "muster status shows it on the machine"


async def test_a_gang_trains_without_root_and_outlives_its_daemon(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(GANG)
    daemon = daemons("rootless")
    daemon.become_unprivileged()
    daemon.start(MUSTER_WORKER__SLOTS="2", **TO_EXCHANGE)
    await eventually(lambda: daemon.name in platform.observed)
    assert (
        "no network boundary: runs use the machine's network"
        in platform.observed["rootless"].isolation_detail
    )
    run = platform.allocation("gang", platform.add_code(tmp_path), (GangMember(worker="rootless", slots=2),))
    await begin_gang(platform, run)
    await eventually(lambda: len(platform.steps(run)) > 5)
    ranks = processes_in(daemon.directory / "runs" / str(run.run_id))
    daemon.kill()
    daemon.start(MUSTER_WORKER__SLOTS="2", **TO_EXCHANGE)
    seen = len(platform.steps(run))
    await eventually(lambda: len(platform.steps(run)) > seen + 5)
    assert set(processes_in(daemon.directory / "runs" / str(run.run_id))) == set(ranks)
    await platform.desire("rootless")
    await eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ranks))


@pytest.mark.parametrize("is_root", [True, False])
def test_a_link_in_the_runs_folder_does_not_move_a_mount(tmp_path: Path, is_root: bool) -> None:
    print("tried: a link in the run's /tmp on the way to a mount; stopped: it is not followed")
    temporary, victim, place, shown = (tmp_path / name for name in ("tmp", "victim", "place", "shown"))
    for folder in (temporary, victim, place, shown):
        folder.mkdir()
        os.chown(folder, USER, GROUP)
    tmp_path.chmod(0o711)
    spec = wire.SandboxSpec(
        user=USER,
        place=str(place),
        hostname="run",
        mounts=[
            [str(temporary), "/tmp", "rw"],
            *([str(path), str(path), "ro"] for path in _system()),
            [str(shown), "/tmp/worker/shown", "ro"],
        ],
    )
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(asdict(spec)))
    file.chmod(0o644)
    attempt = "ls -d /tmp/worker/shown && ! touch /tmp/worker/mine"
    assert _run(tmp_path, file, attempt, is_root=is_root).returncode == 0
    (temporary / "worker").rename(temporary / "former")
    (temporary / "worker").symlink_to(victim)
    ran = _run(tmp_path, file, attempt, is_root=is_root)
    assert ran.returncode != 0 and "Not a directory" in ran.stderr, ran.stderr
    assert list(victim.iterdir()) == []


def _system() -> list[str]:
    return ["/usr", "/bin", "/lib", *(["/lib64"] if Path("/lib64").exists() else [])]


def _run(folder: Path, spec: Path, attempt: str, *, is_root: bool) -> subprocess.CompletedProcess[str]:
    at_root = ("/bin/sh", "-c", 'cd / && exec "$@"', "sh")
    command = (*at_root, sys.executable, "-m", "muster.runtime.sandbox", str(spec), "/bin/sh", "-c", attempt)
    words = command if is_root else (*as_unprivileged(folder), *command)
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
