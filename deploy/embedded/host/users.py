"""System users for processes that must not run as root: Postgres and trials."""

import os
import pwd
import subprocess
import sys
from contextlib import suppress

from muster.errors import Broken

POSTGRES_USER = "muster-postgres"
TRIAL_USER = "muster-trial"
_PROBE = "import wave, muster"


def ensure_user(name: str) -> str:
    """Create a system user without home and shell, unless it exists.

    Raises:
        Broken: it cannot be created.
    """
    with suppress(KeyError):
        return pwd.getpwnam(name).pw_name
    try:
        subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name],
            capture_output=True,
            text=True,
            check=True,
        )
        return pwd.getpwnam(name).pw_name
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        detail = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error
        raise Broken(f"the system user {name} could not be created ({detail})") from error


def find_trial_user() -> str | None:
    """Return the user that trials run as: a system user if this process is root and the user can read this Python, else None."""
    if os.geteuid() != 0:
        return None
    try:
        user = pwd.getpwnam(ensure_user(TRIAL_USER))
        subprocess.run(
            [sys.executable, "-I", "-c", _PROBE],
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=True,
        )
    except (Broken, OSError, subprocess.CalledProcessError):
        return None
    return user.pw_name
