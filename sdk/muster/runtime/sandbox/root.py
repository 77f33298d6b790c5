"""Builds the root of a sandbox: an empty, read-only file system with the folders of `SandboxSpec.mounts` at their usual paths."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from muster.runtime.sandbox import kernel
from muster.wire.sandbox_spec import SandboxSpec

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_READ_ONLY_PROC = ("sys", "irq", "bus", "fs", "sysrq-trigger")
_HIDDEN_PROC = ("kcore", "keys", "timer_list", "latency_stats", "sched_debug", "kmsg", "acpi", "scsi")
_HIDDEN_SYS = (
    "firmware",
    "kernel/debug",
    "kernel/security",
    "kernel/tracing",
    "kernel/config",
    "fs/cgroup",
    "fs/bpf",
    "fs/fuse",
    "fs/pstore",
)
_EMPTY = kernel.MS_NOSUID | kernel.MS_NODEV
_NO_DEVICES = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV


def build_root(spec: SandboxSpec, place: str) -> None:
    """Build the root at the folder `place`, and make it this mount namespace's. Needs new mount and PID namespaces, and the capabilities of root in them."""
    os.umask(0o022)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("sandbox", place, "tmpfs", _EMPTY, "mode=755,size=8m")
    covers = []
    for source, target, mode in spec.mounts:
        cover = _cover_of(target, spec)
        if cover and cover not in covers:
            _cover(place + cover)
            covers.append(cover)
        _bind(source, place + target, is_read_only=mode != "rw")
    for path, text in spec.files.items():
        _write(Path(place + path), text)
    _make_dev(place, spec)
    _make_proc(place)
    _make_sys(place, is_own_network=bool(spec.network))
    for empty in (*(place + cover for cover in covers), place):
        kernel.mount("none", empty, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _EMPTY)
    kernel.change_root(place)


def _cover_of(target: str, spec: SandboxSpec) -> str:
    """Return the topmost folder on the way to a mount in a folder of the run, such as a worker's directory in its /tmp; empty: there is none."""
    for _, above, mode in spec.mounts:
        if mode == "rw" and target.startswith(f"{above}/"):
            return f"{above}/{target.removeprefix(above).split('/')[1]}"
    return ""


def _cover(path: str) -> None:
    """Mount an empty folder at a path in a folder of the run: there, the run could make links of the parents of mounts, or write to them."""
    with suppress(FileExistsError):
        Path(path).mkdir()
    folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        kernel.mount("parents", f"/proc/self/fd/{folder}", "tmpfs", _EMPTY, "mode=755,size=1m")
    finally:
        os.close(folder)


def _bind(source: str, target: str, *, is_read_only: bool) -> None:
    """Show `source` at `target`. A link is copied; what does not exist is left out."""
    try:
        status = os.lstat(source)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        with suppress(FileExistsError):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).symlink_to(Path(source).readlink())
        return
    _make_mount_point(Path(target), is_folder=stat.S_ISDIR(status.st_mode))
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(target, _NO_DEVICES | (kernel.MOUNT_ATTR_RDONLY if is_read_only else 0))


def _make_mount_point(path: Path, *, is_folder: bool) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir()
    else:
        path.touch()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _make_dev(place: str, spec: SandboxSpec) -> None:
    dev = Path(place, "dev")
    dev.mkdir()
    kernel.mount("dev", str(dev), "tmpfs", kernel.MS_NOSUID, "mode=755,size=64k")
    for device in (*(f"/dev/{name}" for name in _DEVICES), *spec.devices):
        if not Path(device).exists():
            continue
        target = Path(place + device)
        _make_mount_point(target, is_folder=Path(device).is_dir())
        kernel.mount(device, str(target), None, kernel.MS_BIND | kernel.MS_REC)
    for name, goal in _LINKS.items():
        (dev / name).symlink_to(goal)
    (dev / "pts").mkdir()
    kernel.mount(
        "devpts",
        str(dev / "pts"),
        "devpts",
        kernel.MS_NOSUID | kernel.MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=620",
    )
    (dev / "ptmx").symlink_to("pts/ptmx")
    (dev / "shm").mkdir()
    kernel.mount("shm", str(dev / "shm"), "tmpfs", _EMPTY, f"mode=1777,size={spec.shm_bytes}")
    kernel.mount(
        "none", str(dev), None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID
    )


def _make_proc(place: str) -> None:
    proc = f"{place}/proc"
    Path(proc).mkdir()
    kernel.mount("proc", proc, "proc", _EMPTY | kernel.MS_NOEXEC)
    for name in _READ_ONLY_PROC:
        path = f"{proc}/{name}"
        if Path(path).exists():
            kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
            kernel.restrict_mount(path, kernel.MOUNT_ATTR_RDONLY)
    _hide(proc, _HIDDEN_PROC)


def _make_sys(place: str, *, is_own_network: bool) -> None:
    """Show devices and their topology, which NCCL reads. A fresh one shows this network namespace's interfaces alone."""
    sys = f"{place}/sys"
    Path(sys).mkdir()
    if is_own_network:
        kernel.mount("sysfs", sys, "sysfs", _EMPTY | kernel.MS_NOEXEC | kernel.MS_RDONLY)
    else:
        # A user namespace may show a folder only with the mounts that cover parts of it.
        kernel.mount("/sys", sys, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.restrict_mount(sys, kernel.MOUNT_ATTR_RDONLY | _NO_DEVICES)
    _hide(sys, _HIDDEN_SYS)


def _hide(place: str, names: tuple[str, ...]) -> None:
    for name in names:
        path = f"{place}/{name}"
        if Path(path).is_dir():
            kernel.mount("none", path, "tmpfs", _EMPTY | kernel.MS_RDONLY, "size=0,mode=555")
        elif Path(path).exists():
            kernel.mount("/dev/null", path, None, kernel.MS_BIND)
