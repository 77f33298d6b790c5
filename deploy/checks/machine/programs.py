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
    """Ask the configured engine, else podman, for its version. If it is neither configured nor needed for all runs, only runs with an image fail."""
    command = shlex.split(own.container_engine) if own.container_engine else ["podman"]
    is_needed = own.container_engine or own.sandbox == "container"
    broken, effect = (
        (error, "") if is_needed else (warning, "; runs with an image cannot start on this worker")
    )
    if shutil.which(command[0]) is None:
        return broken(
            f"{command[0]} is not installed{effect}",
            f"install {command[0]}, or correct MUSTER_WORKER__CONTAINER_ENGINE",
        )
    question = [*command, "version"]
    try:
        ran = subprocess.run(question, capture_output=True, text=True, timeout=_ENGINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return broken(
            f"{command[0]} does not answer: {failure}{effect}", f"run `{shlex.join(question)}` to see why"
        )
    if ran.returncode != 0:
        why = ran.stderr.strip().rpartition("\n")[2]
        return broken(
            f"{command[0]} fails: {why}{effect}",
            f"run `{shlex.join(question)}` as the worker's user to see why",
        )
    return ok(f"{command[0]} {_version(ran.stdout)} answers")


def _version(text: str) -> str:
    lines = (line.split() for line in text.splitlines())
    return next((fields[1] for fields in lines if len(fields) > 1 and fields[0] == "Version:"), "")
