"""System calls that Python's `os` does not have in every version that Muster supports. All raise OSError."""

import ctypes
import os

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 0x1, 0x2, 0x4
_CAPABILITY_VERSION = 0x20080522
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _MNT_DETACH = 442, -100, 0x8000, 2

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user"))


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or bind a folder or file."""
    _check(
        _libc.mount(
            os.fsencode(source), os.fsencode(target), kind and kind.encode(), flags, options.encode()
        ),
        target,
    )


def restrict_mount(target: str, attributes: int) -> None:
    """Set attributes (`MOUNT_ATTR_…`) of a mount and of all mounts below it; before Linux 5.12 of the mount alone."""
    wanted = _MountAttributes(set=attributes)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    done = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, ctypes.byref(wanted), size
    )
    if done == 0:
        return
    if ctypes.get_errno() != 38:  # ENOSYS
        _check(done, target)
    mount("none", target, None, MS_REMOUNT | MS_BIND | (attributes & 0x7))


def change_root(folder: str) -> None:
    """Make `folder`, a mount, the root of this mount namespace, and detach the old root."""
    os.chdir(folder)
    _check(_libc.syscall(_pivot_root_number(), b".", b"."), folder)
    _check(_libc.umount2(b".", _MNT_DETACH), folder)
    os.chdir("/")


def unshare(flags: int) -> None:
    """Enter new namespaces; a new PID namespace holds only later children."""
    _check(_libc.unshare(flags), "namespaces")


def enter_namespace(descriptor: int, flags: int) -> None:
    """Enter the namespaces of a process (a pidfd) or one namespace (a file of /proc/<pid>/ns)."""
    _check(_libc.setns(descriptor, flags), "namespaces")


def set_hostname(name: str) -> None:
    """Set the host name of this UTS namespace."""
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), name)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """Change an attribute of this process."""
    _check(_libc.prctl(option, value, pointer, 0, 0), f"prctl {option}")


def drop_capabilities() -> None:
    """Empty the bounding set: no program can give this process a capability."""
    for number in range(64):
        try:
            prctl(PR_CAPBSET_DROP, number)
        except OSError:
            return  # the kernel knows no more of them, or this process may not: then it has none to give


def clear_capabilities() -> None:
    """Give up all capabilities of this process. A change from root to another user does the same; in a user namespace there is none."""
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capabilities")


def _pivot_root_number() -> int:
    return {"x86_64": 155, "aarch64": 41}[os.uname().machine]


def _check(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)
