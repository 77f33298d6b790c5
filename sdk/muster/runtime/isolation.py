"""Isolation of ranks: the user's folder comes first, and nothing of the platform or of the parent's state is visible."""

import ctypes
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

PLATFORM = frozenset({"services", "worker", "shared", "simulator", "deploy"})
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36


class UserFolderOnly(importlib.abc.MetaPathFinder):
    """Finds modules with the platform's names only in the user's folder, installed or not."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for top-level names of the platform only."""
        if fullname not in PLATFORM:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, [self._folder])
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return spec


def hide_platform(folder: str) -> None:
    """Make `import shared` mean the user's module, hiding editable installs and installed wheels of the platform."""
    sys.meta_path.insert(0, UserFolderOnly(folder))
    for name in [name for name in sys.modules if name.split(".")[0] in PLATFORM]:
        del sys.modules[name]


def shadowed_modules(folder: str) -> set[str]:
    """Return modules of the user's folder that the warm parent imported from elsewhere; these need a cold start."""
    loaded = {name for name in sys.modules if "." not in name} - set(sys.stdlib_module_names) - {"__main__"}
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return set()
    names = {
        entry.name.removesuffix(".py") for entry in entries if entry.name.endswith(".py") or entry.is_dir()
    }
    return names & loaded


def reset_signals() -> None:
    """Reset signal handlers to those of a fresh Python."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def reset_randomness() -> None:
    """Reseed random generators, because forks share the parent's state; torch keeps its fixed default, as in a fresh process."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def enter_groups(groups: Sequence[str]) -> None:
    """Join control groups, inherited by later forks. Raises OSError if a group does not exist."""
    for path in groups:
        Path(path).write_text("0", encoding="ascii")


def set_niceness(niceness: int) -> None:
    """Lower the priority of this session leader: where Linux schedules sessions first (autogroup), niceness counts only within a
    session, so the session's own value is set too. No effect on an otherwise idle machine.
    """
    if niceness:
        os.nice(niceness)
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def set_limits(limits: Mapping[str, int], *, are_final: bool) -> None:
    """Lower soft limits by name (`nofile`, `core`, `data`, `fsize`, `nproc`), capped by the hard limit, which is lowered too if they are final."""
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(number)
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (soft, soft if are_final else hard))


def allow_debugging() -> None:
    """Let processes of the same user trace this one, as after `exec`: a change of user forbids it."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def refuse_debugging() -> None:
    """Keep processes of the same user from tracing this one and from reading its memory and files in /proc. Forks inherit it."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def prefer_as_victim() -> None:
    """Make the kernel kill this process before the worker when the machine is out of memory."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def drop_privileges(user: int | None, group: int | None) -> None:
    """Change to another user irrevocably; disable set-user-id programs, and die with the parent."""
    if group is not None:
        os.setgroups([])
        os.setresgid(group, group, group)
    if user is not None:
        os.setresuid(user, user, user)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def become_subreaper() -> None:
    """Adopt orphans of ranks instead of init, so that they stay visible."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
