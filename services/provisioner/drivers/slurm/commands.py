"""Run Slurm's programs and classify their errors."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal
from shared.errors import Rejected, Transient

TIMEOUT_S = 30.0
_FRAGMENTS: Sequence[tuple[str, Cause]] = (
    ("limit", "quota"),
    ("violates accounting", "quota"),
    ("configuration not available now", "no_capacity"),
    ("partition not available", "no_capacity"),
    ("nodes required for job are down", "no_capacity"),
    ("temporarily unable to accept", "throttled"),
    ("invalid account", "credentials"),
    ("access denied", "credentials"),
    ("permission denied", "credentials"),
    ("user's group not permitted", "credentials"),
    ("authentication", "credentials"),
    ("user id", "credentials"),
    ("munge", "credentials"),
    ("invalid", "bad_request"),
    ("not available", "bad_request"),
    ("unrecognized", "bad_request"),
)
"""Fragments of Slurm's messages (`slurm_errno.c`), in the order in which they are searched."""
_NO_ANSWER = (
    "unable to contact slurm controller",
    "socket timed out",
    "connection refused",
    "communication",
    "transport",
)
_WAYS_OUT: Mapping[Cause, str] = {
    "quota": "raise the limit of the account or QOS, or lower the pool's maximum",
    "credentials": "check the pool's account, QOS and partition, and the user that the provisioner runs as",
    "bad_request": "correct the pool's kinds: partition, gres and features must exist in the cluster",
}


class SlurmRefused(Rejected):
    """A Slurm program refused; the message is Slurm's."""


async def run(
    program: str, *arguments: str, environment: Mapping[str, str], script: str | None = None
) -> str:
    """Run a program and return its output.

    Raises:
        SlurmRefused: The program refused.
        Transient: The program or its cluster did not answer; the request may have taken effect.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
        )
    except OSError as error:
        raise SlurmRefused("no_slurm", f"{program} cannot be run: {error}") from error
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, errors = await process.communicate(script.encode() if script is not None else b"")
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise Transient(f"{program} did not end within {TIMEOUT_S:.0f} s") from error
    if process.returncode == 0:
        return output.decode(errors="replace")
    message = _last_error(errors.decode(errors="replace"), program)
    if any(fragment in message.lower() for fragment in _NO_ANSWER):
        raise Transient(f"{program}: {message}")
    raise SlurmRefused("slurm_refused", message)


async def ask(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return all jobs of the cluster. Raises Transient if squeue does not list them."""
    try:
        found: Mapping[str, Any] = orjson.loads(await run("squeue", "--json", environment=environment))
    except (SlurmRefused, orjson.JSONDecodeError) as error:
        raise Transient(f"squeue did not list the cluster's jobs: {error}") from error
    # squeue may exit with 0 and list no jobs if it cannot reach the cluster; all machines would seem to be gone.
    if faults := found.get("errors"):
        reason = faults[0].get("description") or faults[0].get("error")
        raise Transient(f"squeue did not list the cluster's jobs: {reason}")
    return found


def refusal(message: str, where: str) -> LaunchRefusal:
    """Return the refusal of jobs with a message for users; `where` names the offer."""
    unknown: Cause = "unknown"
    cause = next((cause for fragment, cause in _FRAGMENTS if fragment in message.lower()), unknown)
    text = f"Slurm refused {where}: {message.rstrip('.')}"
    return LaunchRefusal(cause, f"{text}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else text)


def _last_error(errors: str, program: str) -> str:
    """Return the last error line without the program's name."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else "it failed without an error message"
    for prefix in (f"{program}: error: ", f"{program}: fatal: ", f"{program}: "):
        last = last.removeprefix(prefix)
    return last.removeprefix("Batch job submission failed: ")
