"""The user that trials run as."""

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass

from muster.errors import Rejected
from worker.paths import RunPaths


@dataclass(frozen=True, slots=True)
class Account:
    """The user that trials run as."""

    user: int
    group: int

    def own(self, paths: RunPaths) -> None:
        """Give the run's directories to this user. By path: only before the first process of the trial starts."""
        paths.root.chmod(0o711)
        for folder in (*paths.folders_of_trial, paths.unsent):
            for path in (folder, *folder.rglob("*")) if folder.exists() else ():
                os.chown(path, self.user, self.group, follow_symlinks=False)


def find_account(name: str | None) -> Account | None:
    """Return the account of a user name; None if none is set.

    Raises:
        Rejected: The user does not exist, or this process cannot run processes as it.
    """
    if name is None:
        return None
    if os.geteuid() != 0:
        raise Rejected("not_root", "only a worker that runs as root can run trials as another user")
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise Rejected("user_unknown", f"there is no user {name}", place="MUSTER_WORKER__USER") from None
    account = Account(found.pw_uid, found.pw_gid)
    _check_can_run(account, name)
    # Ranks read files in directories that they may only traverse; a tighter umask would prevent that.
    os.umask(0o022)
    return account


def _check_can_run(account: Account, name: str) -> None:
    """Check that the user can read this interpreter's library, or trials would fail at their first import."""
    command = [sys.executable, "-I", "-c", "import wave, muster"]
    try:
        subprocess.run(
            command,
            user=account.user,
            group=account.group,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise Rejected(
            "user_cannot_run",
            f"{name} cannot use {sys.executable}: {error}",
            hint="install Python and Muster where this user can read them, or unset MUSTER_WORKER__USER",
        ) from error
