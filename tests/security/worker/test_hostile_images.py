"""What the author of an image writes into it changes neither the user nor the rights, disks or limits of its container."""

import io
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.conftest import heard
from tests.integration.worker.containers import Podman
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.executors import need_podman, opened
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.oci import python_layer
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)
pytestmark = need_podman
CONFIG: dict[str, Any] = {
    "User": "0:0",
    "Entrypoint": ["/bin/sh", "-c", "echo ENTRYPOINT-RAN > /data/x; exec sleep 100"],
    "Cmd": ["sh"],
    "Volumes": {"/data": {}, "/etc": {}, "/run/muster": {}},
    "WorkingDir": "/data",
    "StopSignal": "SIGSTOP",
    "Healthcheck": {"Test": ["CMD-SHELL", "id > /tmp/health"], "Interval": 1_000_000_000},
    "OnBuild": ["RUN false"],
    "ExposedPorts": {"22/tcp": {}},
    "Labels": {"muster.run": "another"},
    "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONINSPECT=1", "MUSTER_TOKEN=mine", "BASH_ENV=/data/x"],
}
ANNOTATIONS = {
    # a filter of system calls that allows all of them
    "run.oci.seccomp_bpf_data": "BgAAAAAA/38=",
    "run.oci.keep_original_groups": "1",
    "run.oci.handler": "wasm",
    "io.katacontainers.config.hypervisor.path": "/bin/sh",
}
"""What engines pass on from an image to their runtime, and crun or Kata obey."""
INSIDE = """
import ctypes, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
def tried(what):
    try:
        return repr(what())
    except Exception as error:
        return f"stopped {type(error).__name__}: {error}"
libc = ctypes.CDLL(None, use_errno=True)
def unshare():
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    return "REACHED a user namespace"
print("uid", os.getuid(), os.getgid(), os.getgroups())
print("caps", status["CapEff"].strip(), status["CapBnd"].strip(), status["NoNewPrivs"].strip(), status["Seccomp"].strip())
print("namespace", tried(unshare))
for folder in ("/data", "/etc", "/run/muster", "/"):
    print("write", folder, tried(lambda: open(folder + "/x", "w").write("x") and "REACHED " + folder))
print("mounts", [line.split()[1:4] for line in open("/proc/mounts") if " rw" in line])
print("done")
"""


@pytest.fixture(scope="module")
async def podman(platform: FakePlatform) -> AsyncIterator[Podman]:
    async with opened("container", platform) as executor:
        assert executor.podman is not None
        yield executor.podman


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon], podman: Podman) -> Daemon:
    return await heard(platform, daemons("w1"), **podman.settings)


async def test_its_config_gives_it_no_user_rights_or_disk(
    platform: FakePlatform, worker: Daemon, podman: Podman, tmp_path: Path
) -> None:
    layers = (python_layer(), open_folders("data", "run/muster"))
    podman.registry.add("team/config:1", layers=layers, config=CONFIG)
    text, _ = await said_in(platform, podman, tmp_path, "team/config:1")
    print(text)
    assert "done" in text and "REACHED" not in text and "ENTRYPOINT" not in text
    lines = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    assert lines["caps"] == "0000000000000000 0000000000000000 1 2"
    uid, gid, groups = lines["uid"].split(" ", 2)
    assert uid == gid != "0" and groups == f"[{gid}]"
    assert not podman.run("volume", "ls", "--quiet").split()


@pytest.mark.parametrize("name", ANNOTATIONS)
async def test_what_it_tells_the_runtime_is_refused(
    platform: FakePlatform, worker: Daemon, podman: Podman, tmp_path: Path, name: str
) -> None:
    image = f"team/annotated{list(ANNOTATIONS).index(name)}:1"
    harmless = {"org.opencontainers.image.title": "hostile"}
    podman.registry.add(image, annotations=harmless | {name: ANNOTATIONS[name]})
    _, reason = await said_in(platform, podman, tmp_path, image)
    assert name in reason, reason


async def test_other_annotations_are_taken(
    platform: FakePlatform, worker: Daemon, podman: Podman, tmp_path: Path
) -> None:
    podman.registry.add("team/titled:1", annotations={"org.opencontainers.image.title": "friendly"})
    text, reason = await said_in(platform, podman, tmp_path, "team/titled:1")
    assert "done" in text, reason


async def said_in(platform: FakePlatform, podman: Podman, tmp_path: Path, name: str) -> tuple[str, str]:
    """Run `INSIDE` in the image; return what it printed, and why it failed."""
    code = platform.add_code(code_in(tmp_path, INSIDE))
    spec = {"container": {"images": {"cpu": f"{podman.registry.address}/{name}"}}}
    run = platform.allocation(f"in {name}", code, ONE, spec=spec)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    found = platform.of("w1", run)
    await platform.desire("w1")
    await eventually(lambda: podman.containers() == [])
    await eventually(lambda: bool(platform.text(run)))
    return platform.text(run), (found.reason if found else None) or ""


def open_folders(*names: str) -> bytes:
    """A layer with folders that everybody may write to."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as layer:
        for name in names:
            made = tarfile.TarInfo(name)
            made.type, made.mode = tarfile.DIRTYPE, 0o1777
            layer.addfile(made)
    return packed.getvalue()
