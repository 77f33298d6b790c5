"""Whether this process can make sandboxes, which the kernel's settings and the container around it decide."""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

from muster.errors import Rejected
from worker.sandbox.accounts import Account
from worker.sandbox.capabilities import missing_capabilities
from worker.sandbox.contents import SandboxNeeds, describe_installation
from worker.sandbox.uids import MACHINE_FOLDER

_TRIED_S = 30.0
_ERROR_NUMBER = re.compile(r"^(\w*Error: )?(\[Errno \d+\] )?")
_WRITE = "umask 077 && echo written > written"
"""Run inside: the worker must be able to read and to delete what it leaves."""
_NEEDED = ("chown", "dac_override", "kill", "setgid", "setuid", "sys_chroot", "sys_admin")
"""Capabilities of root that sandboxes need."""
_SETTINGS = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=65536"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows `userns` to Python",
    ),
}
"""Settings by which machines refuse user namespaces, and what changes them."""
_WITHOUT_ROOT = (
    "start the worker as root, or outside of a container that hides parts of /proc or refuses namespaces"
)
_AS_ROOT = (
    "give its container CAP_SYS_ADMIN, a writable /run, and profiles of seccomp and AppArmor that allow unshare, setns, mount and pivot_root; "
    "or let its pool serve one tenant: `muster pool set POOL --trusted`"
)
_UNMAPPED = "set MUSTER_WORKER__UID_RANGE to ids that exist there: /proc/self/uid_map lists them"


@cache
def refusal_of_sandboxes(account: Account) -> Rejected | None:
    """Return why this process cannot make sandboxes for runs with this user; None if it can. Tries it once, in a child process."""
    if not _is_mapped(account.user):
        return _refusal(f"this container has no user id {account.user}", _UNMAPPED)
    try:
        why = _try(account)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = _ERROR_NUMBER.sub("", str(error))
    if why is None:
        return None
    if os.geteuid() != 0:
        return _refusal(why, "; ".join(_refusing_settings()) or _WITHOUT_ROOT)
    missing = missing_capabilities(*_NEEDED)
    return _refusal(f"it lacks {' and '.join(missing)}" if missing else why, _AS_ROOT)


def _try(account: Account) -> str | None:
    """Run a command in a sandbox, as an installation does, and take over what it wrote. Return the error, if any. Raises OSError."""
    if os.geteuid() == 0:
        MACHINE_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=MACHINE_FOLDER):
            pass  # the ids of runs are kept there
    with tempfile.TemporaryDirectory(prefix="muster-sandbox-") as folder:
        place, inside = Path(folder, "root"), Path(folder, "inside")
        place.mkdir()
        inside.mkdir()
        os.chown(inside, account.user, account.group)
        spec = describe_installation(place, account, inside, inside, SandboxNeeds())
        file = Path(folder, "spec.json")
        file.write_text(json.dumps(asdict(spec)))
        in_sandbox = (sys.executable, "-I", "-m", "muster.runtime.sandbox", str(file))
        ran = subprocess.run(
            [*in_sandbox, "/bin/sh", "-c", _WRITE],
            cwd=inside,
            capture_output=True,
            text=True,
            timeout=_TRIED_S,
            check=False,
        )
        if ran.returncode != 0:
            last = ran.stderr.strip().rpartition("\n")[2]
            return _ERROR_NUMBER.sub("", last) or f"the attempt ended with {ran.returncode}"
        (inside / "written").read_text()
        return None


def _refusal(why: str, hint: str) -> Rejected:
    return Rejected("sandbox_refused", f"this worker cannot make sandboxes: {why}", hint=hint)


def _is_mapped(user: int) -> bool:
    """Whether the user namespace of this process contains a user id; that of a container without root has few."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = (map(int, line.split()) for line in lines)
    return any(first <= user < first + count for first, _, count in ranges)


def _refusing_settings() -> list[str]:
    return [
        hint
        for path, (refusing, hint) in _SETTINGS.items()
        if os.access(path, os.R_OK) and Path(path).read_text().strip() == refusing
    ]
