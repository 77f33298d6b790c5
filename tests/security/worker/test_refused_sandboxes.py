"""Workers that are root but may not make sandboxes, as in a pod without CAP_SYS_ADMIN: they say so, and a trusted pool uses them without."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.allocations import ObservedSet
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.unprivileged import WITHOUT_NAMESPACES
from tests.support.waiting import eventually
from tests.support.warm import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
WITHOUT_SYS_ADMIN = ("setpriv", "--bounding-set", "-sys_admin")
TO_DO = "give its container CAP_SYS_ADMIN, a writable /run, and profiles of seccomp and AppArmor that allow unshare"
REFUSING = {
    "capability": (WITHOUT_SYS_ADMIN, "it lacks CAP_SYS_ADMIN", TO_DO),
    "calls": ((sys.executable, "-c", WITHOUT_NAMESPACES), "Operation not permitted: 'namespaces'", TO_DO),
    "folder": (
        ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /run && exec "$@"', "sh"),
        "Read-only file system: '/run/muster'",
        "a writable /run",
    ),
    "ids": (
        ("unshare", "--user", "--map-root-user"),
        "this container has no user id 465535",
        "set MUSTER_WORKER__UID_RANGE to ids that exist there",
    ),
}
"""The words before the daemon, the reason that it reports, and what its log says to do."""
SCRIPT = """
import muster, os
trial = muster.trial()
trial.report(1, user=float(os.geteuid()))
"""
DEFAULT_POOL = """
import os
from deploy.embedded.options import load_options
from deploy.embedded.platform import TRUSTED, Platform
print(Platform(load_options(dict(os.environ)))._own("scheduler", 0, 0)[TRUSTED])
"""


@pytest.mark.parametrize("name", REFUSING)
async def test_a_worker_as_root_that_can_make_no_sandbox_says_so_and_runs_without(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path, name: str
) -> None:
    print(
        "tried: a worker as root that may not make sandboxes; it reports that it isolates nothing, so pools of several tenants refuse it"
    )
    words, reason, action = REFUSING[name]
    daemon = daemons(name)
    reported = await _started(platform, daemon, words)
    assert reported.isolation == "none" and not reported.isolated_user
    assert reported.isolation_detail == (
        "trials run as the worker's own user; no network boundary: runs use the machine's network; "
        f"this worker cannot make sandboxes: {reason}"
    )
    kept = json.loads((daemon.directory / "isolation.json").read_text())
    assert kept["detail"] == reported.isolation_detail, "muster status shows it on the machine"
    log = (daemon.directory / "daemon.log").read_text()
    assert "runs have no sandbox" in log and action in log

    run = platform.allocation(
        f"plain-{name}", platform.add_code(code_in(tmp_path, SCRIPT)), (GangMember(worker=name, slots=1),)
    )
    await platform.desire(name, run)
    await eventually(lambda: state_of(platform, run, name) == "exited")
    ended = platform.of(name, run)
    assert ended is not None and ended.exit_code == 0, ended
    await eventually(lambda: platform.steps(run) == [1])


@pytest.mark.parametrize(("words", "trusted"), [((), "false"), (WITHOUT_SYS_ADMIN, "true")])
def test_the_pool_of_a_platform_whose_workers_can_make_none_is_trusted(
    tmp_path: Path, words: tuple[str, ...], trusted: str
) -> None:
    command = (*words, sys.executable, "-c", DEFAULT_POOL)
    environment = {"PATH": os.environ["PATH"], "MUSTER_HOME": str(tmp_path)}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == f"{trusted}\n"


async def test_a_worker_that_may_not_make_networks_says_why(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("networkless")
    words = ("setpriv", "--bounding-set", "-net_admin")
    reported = await _started(platform, daemon, words, MUSTER_WORKER__NETWORK="auto")
    assert (reported.isolation, reported.private_network) == ("sandbox", False)
    assert reported.isolation_detail == (
        "each run has its own user and namespaces; no network boundary: runs use the machine's network, "
        "because this worker lacks CAP_NET_ADMIN"
    )


async def _started(
    platform: FakePlatform, daemon: Daemon, words: tuple[str, ...], **settings: str
) -> ObservedSet:
    daemon.before = words
    daemon.start(**settings)
    await eventually(lambda: daemon.name in platform.observed)
    return platform.observed[daemon.name]
