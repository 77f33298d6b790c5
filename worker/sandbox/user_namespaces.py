"""Whether a worker without root can make sandboxes, which the kernel's settings decide."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

from muster.errors import Rejected
from worker.sandbox.contents import SandboxNeeds, describe_installation
from worker.sandbox.uids import OwnUser

_TRIED_S = 30.0
_SETTINGS = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=65536"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows `userns` to Python",
    ),
}
"""Settings by which machines refuse user namespaces, and what changes them."""
_ELSE = "start the worker as root, or outside of a container that hides parts of /proc or refuses namespaces"


@cache
def refusal_of_sandboxes() -> Rejected | None:
    """Return why this process, which is not root, cannot make sandboxes; None if it can. Tries it once."""
    with tempfile.TemporaryDirectory(prefix="muster-sandbox-") as folder:
        place, inside = Path(folder, "root"), Path(folder, "inside")
        place.mkdir()
        inside.mkdir()
        account = OwnUser().account_of(inside)
        spec = describe_installation(place, account, inside, inside, SandboxNeeds())
        file = Path(folder, "spec.json")
        file.write_text(json.dumps(asdict(spec)))
        command = [sys.executable, "-I", "-m", "muster.runtime.sandbox", str(file), "/bin/true"]
        try:
            ran = subprocess.run(
                command, cwd=inside, capture_output=True, text=True, timeout=_TRIED_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return _refusal(str(error))
    last = ran.stderr.strip().rpartition("\n")[2].removeprefix("OSError: ")
    return None if ran.returncode == 0 else _refusal(last or f"the attempt ended with {ran.returncode}")


def _refusal(why: str) -> Rejected:
    hints = [
        hint
        for path, (refusing, hint) in _SETTINGS.items()
        if os.access(path, os.R_OK) and Path(path).read_text().strip() == refusing
    ]
    return Rejected(
        "sandbox_refused",
        f"this machine lets only root make sandboxes: {why}",
        hint="; ".join(hints) or _ELSE,
    )
