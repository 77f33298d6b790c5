"""Programs that a worker calls."""

import shlex
import shutil
import subprocess

from deploy.checks.findings import Finding, error, ok, warning
from worker.sandbox.network.commands import PROGRAMS
from worker.sandbox.network.opening import refusal_of_networks
from worker.settings import WorkerSection

WHY_NETWORK = (
    "Without networks of their own, runs of different users reach each other, and this machine's services."
)
WHY_ENGINE = "Runs with an image need a container engine; the worker refuses them without one."
_ENGINE_S = 15.0


def check_network_programs(own: WorkerSection) -> Finding:
    """Check that `ip`, `bridge` and `nft` are installed."""
    missing = {name: package for name, package in PROGRAMS.items() if shutil.which(name) is None}
    if not missing:
        return ok(f"{', '.join(PROGRAMS)} are installed")
    remedy = f"apt install {' '.join(sorted(set(missing.values())))}"
    found = f"not installed: {', '.join(missing)}"
    return (
        error(found, remedy)
        if own.network == "private"
        else warning(f"{found}; runs use the machine's network", remedy)
    )


def check_private_networks(own: WorkerSection) -> Finding:
    """Try what networks of runs need: namespaces, VXLAN, bridges, nftables."""
    if own.network == "host":
        return warning(
            "runs use the machine's network (MUSTER_WORKER__NETWORK=host)",
            "set it to auto if several tenants use this pool",
        )
    why = refusal_of_networks(own)
    if why is None:
        return ok("runs get networks of their own")
    remedy = "start the worker as root on a kernel with network namespaces, VXLAN and nftables, or set MUSTER_WORKER__NETWORK=host for one trusted tenant"
    return (
        error(why, remedy)
        if own.network == "private"
        else warning(f"{why}; runs use the machine's network", remedy)
    )


def check_container_engine(own: WorkerSection) -> Finding:
    """Ask the configured engine, else podman, for its version."""
    command = shlex.split(own.container_engine) if own.container_engine else ["podman"]
    if shutil.which(command[0]) is None:
        found = f"{command[0]} is not installed"
        if own.container_engine:
            return error(found, "install it, or correct MUSTER_WORKER__CONTAINER_ENGINE")
        return warning(
            f"{found}; this worker refuses runs with an image",
            "apt install podman, if experiments use images",
        )
    try:
        ran = subprocess.run(
            [*command, "version"], capture_output=True, text=True, timeout=_ENGINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return error(
            f"{command[0]} does not answer: {failure}",
            f"run `{shlex.join([*command, 'version'])}` to see why",
        )
    if ran.returncode != 0:
        why = ran.stderr.strip().rpartition("\n")[2]
        return error(
            f"{command[0]} fails: {why}",
            f"run `{shlex.join([*command, 'version'])}` as the worker's user to see why",
        )
    return ok(f"{command[0]} {_version(ran.stdout)} answers")


def _version(text: str) -> str:
    lines = (line.split() for line in text.splitlines())
    return next((words[1] for words in lines if len(words) > 1 and words[0] == "Version:"), "")
