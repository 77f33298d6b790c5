"""Runs `ip`, `bridge` and `nft`, which configure the kernel's network."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from muster.errors import Broken

_TIMEOUT_S = 10
PROGRAMS = {"ip": "iproute2", "bridge": "iproute2", "nft": "nftables"}
"""What is called here, and the package of Debian that has it."""


class NetworkFailed(Broken):
    """The kernel refused to configure a network."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="network_failed")


def execute(*command: str, lines: Sequence[str] = ()) -> str:
    """Run a command with `lines` as its input, and return its output.

    Raises:
        NetworkFailed: It failed, does not exist, or did not end in time.
    """
    try:
        done = subprocess.run(
            command,
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_S,
        )
    except subprocess.CalledProcessError as error:
        raise NetworkFailed(f"`{' '.join(command)}` failed: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetworkFailed(f"`{' '.join(command)}` failed: {error}") from error
    return done.stdout


def ip(*lines: str, namespace: str = "") -> None:
    """Run lines of `ip`, in a namespace if one is named; stop at the first that fails."""
    execute("ip", *(("-n", namespace) if namespace else ()), "-batch", "-", lines=lines)


def bridge(*lines: str, namespace: str, must_succeed: bool = True) -> None:
    """Run lines of `bridge` in a namespace; otherwise ignore lines that fail."""
    force = () if must_succeed else ("-force",)
    with suppress(*(() if must_succeed else (NetworkFailed,))):
        execute("bridge", "-n", namespace, *force, "-batch", "-", lines=lines)


def nft(*lines: str) -> None:
    """Apply lines of nftables as one transaction."""
    execute("nft", "-f", "-", lines=lines)


def read_ip(*arguments: str) -> list[dict[str, Any]]:
    """Return what `ip -json` prints."""
    found: list[dict[str, Any]] = json.loads(execute("ip", "-json", *arguments) or "[]")
    return found


def ignore_failure(*command: str) -> None:
    """Run a command that may have nothing to do."""
    with suppress(NetworkFailed):
        execute(*command)


def set_kernel_value(path: str, value: str) -> None:
    """Write a value below `/proc/sys/net`. Raises NetworkFailed."""
    try:
        Path("/proc/sys/net", path).write_text(value)
    except OSError as error:
        raise NetworkFailed(f"/proc/sys/net/{path} cannot be set to {value}: {error.strerror}") from error


def kernel_value(path: str) -> str:
    """Return a value below `/proc/sys/net`."""
    return Path("/proc/sys/net", path).read_text().strip()
