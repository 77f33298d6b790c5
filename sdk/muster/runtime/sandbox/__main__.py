"""`python -m muster.runtime.sandbox SPEC COMMAND…`: run a command in a sandbox of its own, described by a JSON file (`SandboxSpec`).

The file may also have `limits` and `cgroups`, as in `Launch`.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from muster.runtime import isolation
from muster.runtime.sandbox.sandboxes import Sandboxes, drop_to
from muster.wire.sandbox_spec import SandboxSpec


def main() -> int:
    """Return the command's exit code; everything that it left running is killed."""
    file, *command = sys.argv[1:]
    folder = Path.cwd()
    isolation.become_subreaper()
    sandboxes = Sandboxes()
    content = json.loads(Path(file).read_text())
    limits, cgroups = content.pop("limits", {}), content.pop("cgroups", [])
    sandbox = sandboxes.open("", SandboxSpec(**content))
    pid = sandbox.fork()
    if pid == 0:
        try:
            isolation.enter_groups(cgroups)
            isolation.prefer_as_victim()
            sandbox.enter()
            isolation.set_limits(limits, are_final=True)
            drop_to(sandbox.user)
            os.closerange(3, 1 << 20)
            os.chdir(folder)
            os.execvp(command[0], command)  # noqa: S606 - the fork is already there
        finally:
            os._exit(127)
    _, status = os.waitpid(pid, 0)
    sandboxes.end("")
    # When init has ended, so has everything in the sandbox: the caller may walk over the folders by path.
    with suppress(ChildProcessError):
        os.waitpid(sandbox.init, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
