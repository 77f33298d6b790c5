"""What a rank may import and inherit: the user's folder first, nothing of the platform, no state of the parent."""

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
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 38, 36


class UserFolderOnly(importlib.abc.MetaPathFinder):
    """Finds modules with the platform's names in the user's folder or not at all, installed or not."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for top-level platform names alone."""
        if fullname not in PLATFORM:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, [self._folder])
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return spec


def hide_platform(folder: str) -> None:
    """Let `import shared` mean the user's own; editable installs and installed wheels alike are out of reach."""
    sys.meta_path.insert(0, UserFolderOnly(folder))
    for name in [name for name in sys.modules if name.split(".")[0] in PLATFORM]:
        del sys.modules[name]


def shadowed_modules(folder: str) -> set[str]:
    """Names in the user's folder that the warm parent has imported from elsewhere: only a cold start is faithful."""
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
    """Handlers as a fresh Python has them."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def reset_randomness() -> None:
    """Forks of one parent would all draw the same numbers; torch keeps its fixed default, as in a fresh process."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def enter_groups(groups: Sequence[str]) -> None:
    """Become a member of control groups, with all that is forked from here on. Raises OSError where one is not there."""
    for path in groups:
        Path(path).write_text("0", encoding="ascii")


def set_niceness(niceness: int) -> None:
    """Leave processors to what is less nice, as the leader of a session: where Linux shares them out among sessions first, niceness counts within
    one only, and the session's own says how sessions share. Nothing changes where nobody else computes."""
    if niceness:
        os.nice(niceness)
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def set_limits(limits: Mapping[str, int]) -> None:
    """Lower soft limits by name (`nofile`, `core`, `as`, `fsize`, `nproc`); never above the hard limit."""
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(number)
        resource.setrlimit(number, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def drop_privileges(user: int | None, group: int | None) -> None:
    """Become another user for good; then neither set-user-id programs nor the parent's end are of any use."""
    if group is not None:
        os.setgroups([])
        os.setresgid(group, group, group)
    if user is not None:
        os.setresuid(user, user, user)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def become_subreaper() -> None:
    """Orphans of ranks become this process's children instead of init's, so that none is lost from sight."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
