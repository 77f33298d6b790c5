"""Runs in containers, with a real engine: each has its image, its own processes and files, and nothing else of the machine."""

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.conftest import heard
from tests.integration.worker.containers import SITE, Podman
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.executors import need_podman, opened, with_torch
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_runs import ENDLESS, TRAIN
from tests.support.oci import Registry, layer_of, python_layer
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)

pytestmark = need_podman


@pytest.fixture(scope="module")
async def podman(platform: FakePlatform) -> AsyncIterator[Podman]:
    async with opened("container", platform) as executor:
        assert executor.podman is not None
        yield executor.podman


@pytest.fixture(scope="module")
def registry(podman: Podman) -> Registry:
    old = "#!/bin/sh\necho '{\"python\": [3, 9]}'\n"
    registry = podman.registry
    registry.add("team/other-torch:1", {}, (python_layer(), with_torch("1.0")))
    registry.add("team/shell:1", {}, (layer_of({"bin/nothing": "#!/bin/sh\n"}),))
    registry.add("team/old:1", {"PATH": "/old:/usr/bin"}, (python_layer(), layer_of({"old/python3": old})))
    return registry


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon], podman: Podman) -> Daemon:
    return await heard(platform, daemons("w1"), **podman.settings)


def in_container(
    platform: FakePlatform,
    name: str,
    folder: Path,
    image: str,
    members: tuple[GangMember, ...] = ONE,
    **more: Any,
) -> DesiredAllocation:
    spec = {
        "container": {"images": dict.fromkeys(("cpu", "cuda", "rocm"), image), **more.pop("container", {})}
    }
    experiment = {"experiment": more.pop("experiment")} if "experiment" in more else {}
    return platform.allocation(name, platform.add_code(folder), members, spec=spec | more, **experiment)


async def ended(platform: FakePlatform, run: DesiredAllocation, worker: str = "w1") -> Any:
    await eventually(lambda: state_of(platform, run, worker) == "exited")
    return platform.of(worker, run)


async def test_a_run_that_is_killed_leaves_no_container_and_one_that_dies_ends_only_itself(
    platform: FakePlatform, worker: Daemon, podman: Podman, registry: Registry, tmp_path: Path
) -> None:
    image = f"{registry.address}/team/python:1"
    code = code_in(tmp_path, "import os\nos.system('setsid sleep 600 &')\n" + ENDLESS)
    killed, dies, stays = (in_container(platform, name, code, image) for name in ("killed", "dies", "stays"))
    await platform.desire("w1", killed, dies, stays)
    await eventually(lambda: all(len(platform.steps(run)) > 2 for run in (killed, dies, stays)))
    podman.run("kill", next(name for name in podman.containers() if str(dies.run_id) in name))
    found = await ended(platform, dies)
    assert (found.fault, found.exit_code) == ("user", -9), "the trial can kill what is in its container"
    await platform.desire("w1", killed.model_copy(update={"signal": Signal.KILL}), stays)
    await ended(platform, killed)
    await platform.desire("w1", stays)
    await eventually(lambda: [str(stays.run_id) in name for name in podman.containers()] == [True])
    assert state_of(platform, stays) == "running"
    await platform.desire("w1", stays.model_copy(update={"signal": Signal.KILL}))
    await ended(platform, stays)
    await platform.desire("w1")
    await eventually(lambda: podman.containers() == [])


INSIDE = """
import os, json, socket, subprocess
def tried(what):
    try:
        return repr(what())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print("caps", status["CapEff"].strip(), status["CapBnd"].strip(), status["NoNewPrivs"].strip(), status["Seccomp"].strip())
print("uid", os.getuid(), os.getgid(), os.getgroups())
print("image", os.environ["FROM_IMAGE"])
print("root", tried(lambda: open("/usr/x", "w")))
print("sdk", tried(lambda: open("/opt/muster/muster/x", "w")))
print("trial file", tried(lambda: open(os.environ["MUSTER_TRIAL"], "a")))
runs = os.path.dirname(os.path.dirname(os.environ["MUSTER_TRIAL"]))
print("runs", os.listdir(runs), "own", sorted(os.listdir(os.path.dirname(os.environ["MUSTER_TRIAL"]))))
print("worker", sorted(os.listdir(os.path.dirname(runs))))
print("processes", sorted(int(name) for name in os.listdir("/proc") if name.isdigit())[:2])
print("namespace", tried(lambda: os.unshare(0x10000000) if hasattr(os, "unshare") else subprocess.check_call(["/bin/sh", "-c", "exit 1"])))
print("tmp", tried(lambda: open("/tmp/mine", "w").write("x")))
print("disk", tried(lambda: open("/dev/vda", "rb")), tried(lambda: os.mknod("/tmp/d", 0o60666, os.makedev(254, 0))))
"""


async def test_a_container_has_no_rights_and_sees_only_its_own_run(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path
) -> None:
    run = in_container(platform, "inside", code_in(tmp_path, INSIDE), f"{registry.address}/team/python:1")
    await platform.desire("w1", run)
    assert (await ended(platform, run)).exit_code == 0, platform.text(run)
    await eventually(lambda: "disk " in platform.text(run))
    said = dict(line.split(" ", 1) for line in platform.text(run).splitlines() if " " in line)
    assert said["caps"] == "0000000000000000 0000000000000000 1 2"
    uid, gid, groups = said["uid"].split(" ")
    assert uid == gid != "0" and groups == f"[{gid}]"
    assert said["image"] == "yes"
    assert "Read-only file system" in said["root"] and "Read-only file system" in said["sdk"]
    assert "Error" in said["trial"]
    assert said["runs"].startswith(f"['{run.run_id}'] own")
    for own in ("run.json", "journal", "uploads", "parent.log"):
        assert own not in said["runs"]
    assert said["worker"] == "['runs']"
    assert said["processes"].startswith("[1, ")
    assert said["tmp"] == "1"
    assert "Error" in said["disk"] and "PermissionError" in said["disk"]


@pytest.mark.parametrize(
    ("container", "told"),
    [
        ({"bind_mounts": [{"host_path": "/etc", "container_path": "/mnt"}]}, "bind_mounts[0]: mounting /etc is not allowed"),
        ({"bind_mounts": [{"host_path": str(SITE), "container_path": "/mnt", "read_only": False}]}, "writing to"),
        ({"devices": [{"host_path": "/dev/mem", "container_path": "/dev/mem"}]}, "the device /dev/mem is not allowed"),
        ({"add_capabilities": ["SYS_ADMIN"]}, "the capability SYS_ADMIN is not allowed"),
        ({"images": {"cpu": "docker.io/library/python:3.12"}}, "the image docker.io/library/python:3.12 is not allowed"),
        ({"images": {"cpu": "containers-storage:alpine"}}, "images come only from registries"),
        ({"images": {"cpu": "docker-archive:/etc/x"}}, "images come only from registries"),
        ({"images": {"cpu": "dir:5000/x:1"}}, "images come only from registries"),
    ],
)  # fmt: skip
async def test_a_worker_starts_nothing_that_its_site_does_not_allow(
    platform: FakePlatform,
    worker: Daemon,
    podman: Podman,
    registry: Registry,
    tmp_path: Path,
    container: Any,
    told: str,
) -> None:
    """Also what a service's credential, or an older searcher, lets through."""
    run = in_container(
        platform,
        f"refused {told}",
        code_in(tmp_path, TRAIN),
        f"{registry.address}/team/python:1",
        container=container,
    )
    await platform.desire("w1", run)
    found = await ended(platform, run)
    assert told in (found.reason or "")
    assert podman.containers() == []


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("team/shell:1", "cannot run trials"),
        ("team/old:1", "has Python 3.9, and Muster's SDK needs 3.11 or newer"),
        ("team/absent:1", "could not be pulled"),
    ],
)
async def test_an_image_that_cannot_run_trials_is_refused_with_the_reason(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path, image: str, told: str
) -> None:
    run = in_container(platform, image, code_in(tmp_path, TRAIN), f"{registry.address}/{image}")
    await platform.desire("w1", run)
    found = await ended(platform, run)
    assert told in (found.reason or ""), found.reason


async def test_an_image_without_horovod_is_refused_for_a_gang_with_both_versions_named(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path
) -> None:
    two = (GangMember(worker="w1", slots=2),)
    run = in_container(
        platform, "mismatch", code_in(tmp_path, TRAIN), f"{registry.address}/team/other-torch:1", two
    )
    await platform.desire("w1", run)
    reason = (await ended(platform, run)).reason or ""
    assert f"built for torch {version('torch')} on Python" in reason
    assert "the image has torch 1.0 on Python" in reason


async def test_two_runs_pull_an_image_once_and_the_digest_is_recorded(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path
) -> None:
    digest = registry.add("team/shared:1", {"SHARED": "1"})
    code = code_in(tmp_path, "import time\ntime.sleep(0.1)\n")
    runs = [in_container(platform, f"shared {n}", code, f"{registry.address}/team/shared:1") for n in (1, 2)]
    await platform.desire("w1", *runs)
    for run in runs:
        assert (await ended(platform, run)).exit_code == 0
    assert registry.served["team/shared:1"] == 1
    said = "".join(platform.text(run) for run in runs)
    assert said.count("pulling the image") == 1 and said.count("which another run is pulling") == 1
    assert f"the image {registry.address}/team/shared@{digest} is ready" in said
    names = {f"{registry.address}/team/shared@{digest}"}
    await eventually(
        lambda: all(
            {one.image for one in platform.phases[run.run_id] if one.kind == "pull_image"} == names
            for run in runs
        )
    )
    later = registry.add("team/shared:1", {"SHARED": "2"})
    image = f"{registry.address}/team/shared:1"
    again = in_container(platform, "again", code, image, experiment="a later one")
    await platform.desire("w1", again)
    assert (await ended(platform, again)).exit_code == 0
    assert registry.served["team/shared:1"] == 1, "the tag is known"
    forced = in_container(
        platform, "forced", code, image, container={"force_pull": True}, experiment="the latest one"
    )
    await platform.desire("w1", forced)
    assert (await ended(platform, forced)).exit_code == 0
    await eventually(lambda: f"team/shared@{later} is ready" in platform.text(forced))


async def test_an_image_is_found_by_its_digest_whatever_its_tag_means_now(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path
) -> None:
    digest = registry.add("team/pinned:1", {"FROM_IMAGE": "the first"})
    registry.add("team/pinned:1", {"FROM_IMAGE": "the second"})
    code = code_in(tmp_path, "import os\nprint(os.environ['FROM_IMAGE'], 'one')\n")
    for tag in ("", ":1"):
        image = f"{registry.address}/team/pinned{tag}@{digest}"
        run = in_container(platform, f"pinned{tag}", code, image)
        await platform.desire("w1", run)
        found = await ended(platform, run)
        assert found.exit_code == 0, found.reason
        await eventually(lambda run=run: "the first one" in platform.text(run))  # type: ignore[misc]


async def test_a_private_image_is_for_those_who_have_its_password(
    platform: FakePlatform, worker: Daemon, registry: Registry, tmp_path: Path
) -> None:
    """Also once it is on the machine: another tenant's run does not get it."""
    registry.add("secret/model:1")
    registry.passwords["secret/model"] = "ann:right"
    image, code = f"{registry.address}/secret/model:1", code_in(tmp_path, "print('inside')\n")
    wrong = {"registry_auth": {"username": "ann", "password": "wrong"}}
    right = {"registry_auth": {"secret": "REGISTRY"}}
    platform.secrets["REGISTRY"], platform.secret_keys[worker.name] = "ann:right", worker.user_key
    refused = in_container(platform, "wrong password", code, image, container=wrong)
    allowed = in_container(platform, "right password", code, image, container=right)
    other = in_container(platform, "other tenant", code, image).model_copy(update={"tenant": UUID(int=77)})
    await platform.desire("w1", refused)
    assert "could not be pulled" in ((await ended(platform, refused)).reason or "")
    await platform.desire("w1", allowed)
    assert (await ended(platform, allowed)).exit_code == 0
    await platform.desire("w1", other)
    assert "could not be pulled" in ((await ended(platform, other)).reason or "")
    assert "inside" not in platform.text(other)
    del registry.passwords["secret/model"]
