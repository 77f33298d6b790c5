"""Contents of the sandbox of a run: folders of the system and of Python, read-only, and the folders of the run."""

import site
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from muster import wire
from shared.ids import RunId
from worker.paths import RunPaths
from worker.sandbox.accounts import Account

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "mime.types", "nccl.conf", "nsswitch.conf", "OpenCL", "pip.conf", "pki", "protocols", "resolv.conf", "services", "ssl",
    "timezone", "vulkan", "xdg", "host.conf", "gai.conf", "libibverbs.d", "nv_tegra_release",
)  # fmt: skip
"""Files and folders of /etc for programs: no accounts, keys or settings of services."""
_GPU_DEVICES = (
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-modeset",
    "/dev/infiniband",
    "/dev/kfd",
    "/dev/dri",
)
_NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")
_HOSTS = "127.0.0.1 localhost {name}\n::1 localhost\n"
_PASSWD = "root:x:0:0:root:/root:/usr/sbin/nologin\nmuster:x:{id}:{id}:run:{home}:/bin/sh\n"
_GROUP = "root:x:0:\nmuster:x:{id}:\n"


@dataclass(frozen=True, slots=True)
class SandboxNeeds:
    """Settings of a sandbox besides the run's own folders.

    Attributes:
        readable: Folders of the site that every run may read.
        environment: Folder of the run's Python environment, if it has one.
        gpus: GPUs of the run, as in `nvidia-smi`; None if its slots are cores.
        shm_bytes: Size limit of /dev/shm.
        network: Path of its network namespace; empty: the machine's own.
        resolver: Text of its resolv.conf; empty: the machine's own.
    """

    readable: tuple[str, ...] = ()
    environment: Path | None = None
    gpus: tuple[int, ...] | None = None
    shm_bytes: int = 1024**3
    network: str = ""
    resolver: str = ""


def describe_sandbox(
    run_id: RunId, paths: RunPaths, account: Account, needs: SandboxNeeds
) -> wire.SandboxSpec:
    """Return the sandbox of a run, whose folders exist."""
    shared = () if needs.environment is None else (str(needs.environment),)
    mounts = [
        *_common_mounts(paths.temporary, needs, shared),
        *([str(path), str(path), "ro"] for path in (paths.latest, paths.trial_file, paths.link)),
        *([str(path), str(path), "rw"] for path in (*paths.folders_of_trial, paths.unsent)),
    ]
    name = f"run-{str(run_id)[:8]}"
    return _spec(name, paths.place, account, paths.home, mounts, needs)


def describe_installation(
    place: Path, account: Account, environment: Path, code: Path, needs: SandboxNeeds
) -> wire.SandboxSpec:
    """Return the sandbox in which an environment is installed: it writes to nothing but the environment's folder."""
    mounts = [
        *_common_mounts(environment, needs, (str(code),)),
        [str(environment), str(environment), "rw"],
    ]
    return _spec("installation", place, account, environment, mounts, needs)


def _common_mounts(temporary: Path, needs: SandboxNeeds, shared: tuple[str, ...]) -> list[list[str]]:
    etc = [f"/etc/{one}" for one in _ETC if not (one == "resolv.conf" and needs.resolver)]
    readable = _without_nested([*_SYSTEM, *etc, *_python(), *needs.readable, *shared])
    own = [[str(temporary), target, "rw"] for target in ("/tmp", "/var/tmp")]  # noqa: S108 - the run's own
    return [*own, *([path, path, "ro"] for path in readable)]


def _spec(
    name: str, place: Path, account: Account, home: Path, mounts: list[list[str]], needs: SandboxNeeds
) -> wire.SandboxSpec:
    files = {
        "/etc/passwd": _PASSWD.format(id=account.user, home=home),
        "/etc/group": _GROUP.format(id=account.group),
        "/etc/hosts": _HOSTS.format(name=name),
        "/etc/hostname": f"{name}\n",
    }
    if needs.resolver:
        files["/etc/resolv.conf"] = needs.resolver
    return wire.SandboxSpec(
        user=account.user,
        place=str(place),
        hostname=name,
        mounts=mounts,
        files=files,
        devices=list(_devices(needs.gpus)),
        shm_bytes=needs.shm_bytes,
        network=needs.network,
    )


def _without_nested(paths: Iterable[str]) -> list[str]:
    """Leave out what lies below another of the paths, and sort parents first."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept


@cache
def _python() -> tuple[str, ...]:
    """Return the folders of this interpreter and of the packages that it imports."""
    folders = (
        sys.base_prefix,
        sys.prefix,
        str(Path(sys.executable).resolve().parent),
        *site.getsitepackages(),
        *sys.path,
        # An editable installation is found by a hook, not by a folder of `sys.path`.
        *(str(Path(folder).parent) for folder in wire.__path__),
    )
    return tuple(folder for folder in folders if folder and folder != "/" and Path(folder).is_dir())


def _devices(gpus: tuple[int, ...] | None) -> Iterator[str]:
    """Yield the run's own GPUs and what all of them need. nvidia-smi numbers GPUs in the order of their bus addresses."""
    if gpus is None:
        return
    yield from _GPU_DEVICES
    known = sorted(_NVIDIA_GPUS.iterdir()) if _NVIDIA_GPUS.is_dir() else []
    for number in gpus:
        if number < len(known):
            yield f"/dev/nvidia{_minor(known[number] / 'information')}"


def _minor(information: Path) -> str:
    fields = dict(line.partition(":")[::2] for line in information.read_text().splitlines())
    return fields["Device Minor"].strip()
