"""Kernel features that sandboxes of runs need. Each feature is tried, in a process of its own where that changes it."""

import os
import subprocess
import sys
import tempfile

from deploy.checks.findings import Finding, error, ok, warning
from worker.machine.cgroups import refusal_of_limits
from worker.sandbox.sandboxing import why_no_sandboxes
from worker.sandbox.trial_files import open_beneath
from worker.settings import WorkerSection

WHY_SANDBOXES = (
    "Without sandboxes, runs of different users are not separated from each other and from the machine."
)
WHY_OPENAT2 = "The worker opens files of runs with openat2, so that links in them cannot lead to other files."
WHY_SECCOMP = "The filter of system calls keeps runs away from parts of the kernel that attackers use."
WHY_CGROUPS = (
    "Control groups limit memory and processes of a run; without them one run can exhaust the machine."
)
_TRIED_S = 20.0
_FILTER = "from muster.runtime.sandbox import kernel as k, seccomp; k.prctl(k.PR_SET_NO_NEW_PRIVS, 1); seccomp.restrict_calls()"


def check_sandboxes(own: WorkerSection) -> Finding:
    """Make a sandbox, as the worker does before its first run."""
    refusal = why_no_sandboxes(own)
    if refusal is not None:
        return error(refusal.message, refusal.hint or "start the worker as root, outside of a container")
    return ok("runs get sandboxes")


def check_openat2() -> Finding:
    """Open a folder with openat2."""
    with tempfile.TemporaryDirectory(prefix="muster-doctor-") as folder:
        base = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.close(open_beneath(base, ".", os.O_RDONLY | os.O_DIRECTORY))
        except OSError as failure:
            release = os.uname().release
            return error(
                f"openat2 is refused ({failure.strerror}); the kernel is {release}",
                "use Linux 5.6 or newer, and a container engine whose filter allows openat2",
            )
        finally:
            os.close(base)
    return ok(f"Linux {os.uname().release} has it")


def check_seccomp() -> Finding:
    """Install the filter of runs in a process of its own."""
    if why := _tried(_FILTER):
        return error(
            f"the filter of system calls cannot be installed: {why}",
            "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
        )
    return ok("the filter of runs can be installed")


def check_cgroups() -> Finding:
    """Read which control groups there are, and whether this user may create some."""
    version, why = refusal_of_limits()
    if why:
        return warning(
            f"{version}, but {why}",
            "start the worker as root, or with systemd's `Delegate=yes`; in a container, mount /sys/fs/cgroup writable",
        )
    return ok(f"{version}; memory and processes of runs are limited")


def _tried(program: str) -> str | None:
    """Return why a program of Python fails in a new process; None if it succeeds."""
    command = [sys.executable, "-I", "-c", program]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_TRIED_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return str(failure)
    if ran.returncode == 0:
        return None
    return ran.stderr.strip().rpartition("\n")[2] or f"the attempt ended with {ran.returncode}"
