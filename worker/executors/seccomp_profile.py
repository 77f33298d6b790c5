"""The filter of system calls of containers, as the engines read it. It refuses what the filter of other sandboxes refuses."""

import json
from pathlib import Path
from typing import Any

DENIED = (
    "mount", "umount2", "pivot_root", "chroot", "swapon", "swapoff", "reboot", "sethostname", "setdomainname", "iopl", "ioperm",
    "init_module", "delete_module", "quotactl", "acct", "settimeofday", "syslog", "vhangup", "lookup_dcookie", "clock_settime",
    "kexec_load", "add_key", "request_key", "keyctl", "unshare", "perf_event_open", "fanotify_init", "name_to_handle_at",
    "open_by_handle_at", "setns", "kcmp", "finit_module", "kexec_file_load", "bpf", "userfaultfd", "open_tree", "move_mount", "fsopen",
    "fsconfig", "fsmount", "fspick", "pidfd_getfd", "mount_setattr", "quotactl_fd",
)  # fmt: skip
ABSENT = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Calls that seem not to exist, because libraries have another way."""
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NEW_NAMESPACES = (0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000)
"""CLONE_NEW…: cgroup, UTS, IPC, user, PID and network namespaces, and mounts."""
_TERMINAL_INPUT = (0x5412, 0x541C)
_NETLINK = 16
_INIT = 1
"""The process id of the warm parent in its container."""
_FAMILIES_BELOW_NETLINK = tuple(family for family in range(_NETLINK) if family not in (1, 2, 10))


def write_profile(path: Path) -> Path:
    """Write the profile, and return its path."""
    path.write_text(json.dumps(_profile()))
    return path


def _profile() -> dict[str, Any]:
    rules = [
        _refuse(DENIED, _EPERM),
        _refuse(ABSENT, _ENOSYS),
        *(_refuse(("clone",), _EPERM, _when(0, "SCMP_CMP_MASKED_EQ", one, one)) for one in _NEW_NAMESPACES),
        *(
            _refuse(("ioctl",), _EPERM, _when(1, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, one))
            for one in _TERMINAL_INPUT
        ),
        *(
            _refuse(("socket",), _EAFNOSUPPORT, _when(0, "SCMP_CMP_EQ", one))
            for one in _FAMILIES_BELOW_NETLINK
        ),
        _refuse(("socket",), _EAFNOSUPPORT, _when(0, "SCMP_CMP_GT", _NETLINK)),
        _refuse(("prlimit64",), _EPERM, _when(0, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, _INIT)),
    ]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
        ],
        "syscalls": rules,
    }


def _refuse(names: tuple[str, ...], error: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(arguments)}


def _when(index: int, test: str, value: int, masked: int = 0) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": masked, "op": test}
