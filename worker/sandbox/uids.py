"""User ids of runs: each run on a machine has one of its own, which no other run gets while files of the first exist."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.errors import Rejected
from worker.sandbox.accounts import Account

MACHINE_FOLDER = Path("/run/muster/users")
"""Shared by all workers of a machine: each file is named as a user id, and contains the folder of the run that has it."""
_OWN_FILE = "user"
_SMALLEST = 1000


class UserIds:
    """The ids that this machine gives to runs."""

    def __init__(self, ids: range, folder: Path = MACHINE_FOLDER) -> None:
        self._ids = ids
        self._folder = folder
        self._next = ids.start

    def account_of(self, run: Path) -> Account:
        """Return the account of a run by its folder; the first call chooses it, and stores it there.

        Raises:
            OSError: The disk is full or broken, or every id is in use.
        """
        with self._locked():
            own = run / _OWN_FILE
            user = int(own.read_text()) if own.exists() else self._unused()
            # After a restart of the machine only the run's folder knows its id.
            (self._folder / str(user)).write_text(str(run))
            own.write_text(str(user))
        return Account(user, user)

    def _unused(self) -> int:
        count = len(self._ids)
        for at in range(count):
            user = self._ids[(self._next - self._ids.start + at) % count]
            if self._is_unused(user):
                self._next = user + 1
                return user
        raise OSError(f"all {count} user ids of MUSTER_WORKER__UID_RANGE are in use on this machine")

    def _is_unused(self, user: int) -> bool:
        claim = self._folder / str(user)
        try:
            run = Path(claim.read_text())
        except FileNotFoundError:
            return True
        return not run.is_dir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class OwnUser:
    """The only user of a worker without root: runs have it too, and user namespaces separate them."""

    def account_of(self, run: Path) -> Account:
        """Return the account of this process."""
        return Account(os.geteuid(), os.getegid())


def read_uid_range(text: str) -> range:
    """Return the ids of `FIRST-LAST`, both included.

    Raises:
        Rejected: It is not such a range, or contains ids of the system's users.
    """
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and _SMALLEST <= int(first) <= int(last) < 2**31):
        raise Rejected(
            "uid_range_invalid",
            f"{text!r} is not a range of user ids",
            place="MUSTER_WORKER__UID_RANGE",
            hint=f"write FIRST-LAST, such as 400000-465535: ids from {_SMALLEST} on that no user of this machine has",
        )
    return range(int(first), int(last) + 1)
