"""`python -m tests.support.unprivileged FOLDER… -- COMMAND…`: become a user without any right, who sees these folders, and run a command.

Interpreters and test folders often lie where only root may look: the command has mounts of its own, in which their parents are empty.
"""

import os
import sys
from pathlib import Path

from muster.runtime.sandbox import kernel

USER, GROUP = 54321, 54322
_HELD = "/mnt"
WITHOUT_NAMESPACES = """
import os, sys
from muster.runtime.sandbox import kernel, seccomp
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.restrict_calls()
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Refuses the system calls that make namespaces, as a container of a site does."""


def as_unprivileged(*folders: Path) -> tuple[str, ...]:
    """Return the words before a command. It has `folders` besides the interpreter, the packages and this repository."""
    shown = {Path(sys.base_prefix), Path(sys.prefix), Path(__file__).parents[2], *folders}
    return (
        sys.executable,
        "-m",
        "tests.support.unprivileged",
        *(str(path.resolve()) for path in sorted(shown)),
        "--",
    )


def main() -> None:
    split = sys.argv.index("--")
    folders, command = [Path(one) for one in sys.argv[1:split]], sys.argv[split + 1 :]
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("held", _HELD, "tmpfs", 0, "mode=755")
    closed = {above for folder in folders for above in folder.parents if not above.stat().st_mode & 0o001}
    for number, folder in enumerate(folders):
        Path(_HELD, str(number)).mkdir()
        kernel.mount(str(folder), f"{_HELD}/{number}", None, kernel.MS_BIND | kernel.MS_REC)
    for above in sorted(closed):
        if above.is_dir():
            kernel.mount("empty", str(above), "tmpfs", 0, "mode=755")
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True, exist_ok=True)
        kernel.mount(f"{_HELD}/{number}", str(folder), None, kernel.MS_BIND | kernel.MS_REC)
    os.setgroups([])
    os.setresgid(GROUP, GROUP, GROUP)
    os.setresuid(USER, USER, USER)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
