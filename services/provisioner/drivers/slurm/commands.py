"""Slurm's own programs, and what they say when they fail. Neighbour: `driver`."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal
from shared.errors import Rejected, Transient

TIMEOUT_S = 30.0
_SAYINGS: Sequence[tuple[str, Cause]] = (
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
"""What is in Slurm's words (`slurm_errno.c`), in the order in which it is looked for."""
_NO_ANSWER = (
    "unable to contact slurm controller",
    "socket timed out",
    "connection refused",
    "communication",
    "transport",
)
_WAYS_OUT: Mapping[Cause, str] = {
    "quota": "raise the limit of the account or QOS, or lower the pool's maximum",
    "credentials": "check account, QOS and partition of the pool, and who the provisioner runs as",
    "bad_request": "correct the pool's kinds: partition, gres and features must be the cluster's",
}


class SlurmRefused(Rejected):
    """A program of Slurm's said no; its words are the message."""


async def run(
    program: str, *arguments: str, environment: Mapping[str, str], script: str | None = None
) -> str:
    """What the program prints.

    Raises:
        Failed: It said no.
        Transient: It did not answer, or its cluster did not: what was asked may have been done.
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
            out, said = await process.communicate(script.encode() if script is not None else b"")
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise Transient(f"{program} did not end within {TIMEOUT_S:.0f} s") from error
    if process.returncode == 0:
        return out.decode(errors="replace")
    words = _words(said.decode(errors="replace"), program)
    if any(saying in words.lower() for saying in _NO_ANSWER):
        raise Transient(f"{program}: {words}")
    raise SlurmRefused("slurm_refused", words)


async def ask(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """All jobs of the cluster. Raises Transient where it does not say."""
    try:
        found: Mapping[str, Any] = orjson.loads(await run("squeue", "--json", environment=environment))
    except (SlurmRefused, orjson.JSONDecodeError) as error:
        raise Transient(f"squeue does not show the cluster's jobs: {error}") from error
    # It ends well and shows no jobs where it could not reach the cluster: all machines would seem to be gone.
    if faults := found.get("errors"):
        told = faults[0].get("description") or faults[0].get("error")
        raise Transient(f"squeue does not show the cluster's jobs: {told}")
    return found


def refusal(words: str, where: str) -> LaunchRefusal:
    """What to tell people of jobs that were not taken; `where`: the offer in words."""
    unknown: Cause = "unknown"
    cause = next((cause for saying, cause in _SAYINGS if saying in words.lower()), unknown)
    told = f"Slurm refused {where}: {words.rstrip('.')}"
    return LaunchRefusal(cause, f"{told}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else told)


def _words(said: str, program: str) -> str:
    """Its last complaint, without its own name before it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "it failed without a word"
    for prefix in (f"{program}: error: ", f"{program}: fatal: ", f"{program}: "):
        last = last.removeprefix(prefix)
    return last.removeprefix("Batch job submission failed: ")
