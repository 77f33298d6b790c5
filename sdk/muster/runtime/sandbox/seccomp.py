"""The filter of system calls: what a trial never needs and what attackers of the kernel use is refused.

Everything else is allowed, except calls that are newer than this table. The list follows the default profiles of container engines
(calls that need capabilities, keys, BPF, io_uring, namespaces, mounts), for `x86_64` and `aarch64`.
"""

import ctypes
import errno
import os
import struct

from muster.runtime.sandbox import kernel

_DENIED = {
    # name: numbers on x86_64 and aarch64; -1: does not exist there
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "clock_settime": (227, 112),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
    "quotactl_fd": (443, 443),
}
_ABSENT = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # glibc then uses clone, whose flags a filter can read
    "clone3": (435, 435),
}
"""Calls that seem not to exist, because libraries have another way."""
_LAST_KNOWN = 462
_CLONE, _IOCTL, _SOCKET, _PRLIMIT = (56, 220), (16, 29), (41, 198), (302, 261)
_INIT = 1
"""The process id of a sandbox's init, which has the trial's user: without its limits, the trial cannot end it."""
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into a terminal that others use."""
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_MODE_FILTER = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict_calls() -> None:
    """Install the filter for this process and its children, irrevocably. Needs `no_new_privs`. Raises OSError."""
    instructions = build_filter(os.uname().machine)
    program = _Program(len(instructions) // 8, instructions)
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))


def build_filter(machine: str) -> bytes:
    """Return the BPF program for a machine (`uname -m`). Raises OSError for others: without a filter there is no sandbox."""
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"Muster has no filter of system calls for {machine}")
    architecture, column = _ARCHITECTURES[machine]
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    program += [_instruction(_EQUAL, architecture, 1, 0), _instruction(_RETURN, _KILL)]
    program += [_instruction(_LOAD, _NUMBER)]
    for numbers, refusal in ((_DENIED, errno.EPERM), (_ABSENT, errno.ENOSYS)):
        for both in numbers.values():
            if both[column] >= 0:
                program += _refuse_if(_EQUAL, both[column], refusal)
    # Also the calls of the x32 interface, whose numbers have bit 30.
    program += _refuse_if(_AT_LEAST, _LAST_KNOWN + 1, errno.ENOSYS)
    program += _for_call(_CLONE[column], _FIRST, _refuse_if(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM))
    typing = [part for request in _TERMINAL_INPUT for part in _refuse_if(_EQUAL, request, errno.EPERM)]
    program += _for_call(_IOCTL[column], _SECOND, typing)
    known = [_instruction(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    program += _for_call(
        _SOCKET[column], _FIRST, [*known, _instruction(_RETURN, _ERRNO | errno.EAFNOSUPPORT)]
    )
    program += _for_call(_PRLIMIT[column], _FIRST, _refuse_if(_EQUAL, _INIT, errno.EPERM))
    program += [_instruction(_RETURN, _ALLOW)]
    return b"".join(program)


def _refuse_if(test: int, value: int, refusal: int) -> list[bytes]:
    return [_instruction(test, value, 0, 1), _instruction(_RETURN, _ERRNO | refusal)]


def _for_call(number: int, argument: int, checks: list[bytes]) -> list[bytes]:
    """Return `checks` on the lower half of an argument of one call; other calls skip them."""
    body = [_instruction(_LOAD, argument), *checks, _instruction(_LOAD, _NUMBER)]
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
