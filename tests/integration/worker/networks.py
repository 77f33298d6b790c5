"""Machines that meet only in a network of their own: a namespace each, a veth each, one bridge in a namespace between them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.integration.worker import passage
from tests.support.missing_dependency import need

INTERFACE = "gang0"
_PATIENCE_S = 20


@contextmanager
def joined_machines(count: int, folder: Path, ports: list[int]) -> Iterator[list[tuple[str, ...]]]:
    """Make the machines, and yield for each the words before a command that run it there; their addresses are `address_of`.

    In each of them 127.0.0.1 leads to `folder/PORT` for these ports, and nowhere else. Every namespace belongs to a process of the test and goes with it.

    Skips the test where namespaces, veths or bridges are not permitted.
    """
    need(("ip", "unshare"), "apt-get install iproute2 util-linux")
    if os.geteuid() != 0:
        pytest.skip("network namespaces of several machines need root")
    with ExitStack() as stack:
        switch = stack.enter_context(_namespace(["cat"]))
        try:
            _ip(switch, "link", "add", "switch", "type", "bridge")
            _ip(switch, "link", "set", "switch", "up")
            machines = []
            for number in range(count):
                command = [sys.executable, passage.__file__, str(folder), *map(str, ports)]
                machine = stack.enter_context(_namespace(command))
                assert machine.stdout is not None
                machine.stdout.readline()
                _join(switch, machine, number)
                machines.append(_inside(machine))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no veth or bridge can be made here: {error.stderr.strip()}")
        yield machines


def address_of(number: int) -> str:
    """The address of a machine in the network that joins them."""
    return f"10.213.0.{number + 1}"


def _join(switch: "subprocess.Popen[str]", machine: "subprocess.Popen[str]", number: int) -> None:
    port = f"port{number}"
    _ip(None, "link", "add", INTERFACE, "netns", str(machine.pid), "type", "veth",
        "peer", "name", port, "netns", str(switch.pid))  # fmt: skip
    _ip(switch, "link", "set", port, "master", "switch", "up")
    _ip(machine, "address", "add", f"{address_of(number)}/24", "dev", INTERFACE)
    _ip(machine, "link", "set", INTERFACE, "up")


@contextmanager
def _namespace(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that has a network namespace, and ends with its standard input."""
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"network namespaces are not permitted here: {probe.stderr.strip()}")
    holder = subprocess.Popen(
        ["unshare", "--net", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        _wait_until_apart(holder)
        yield holder
    finally:
        holder.communicate(timeout=_PATIENCE_S)


def _wait_until_apart(holder: "subprocess.Popen[str]") -> None:
    """Return once the process has left this namespace, to which commands for its own would otherwise apply."""
    until = time.monotonic() + _PATIENCE_S
    own = os.stat("/proc/self/ns/net").st_ino
    while os.stat(f"/proc/{holder.pid}/ns/net").st_ino == own:
        assert time.monotonic() < until, "no namespace was made"
        time.sleep(0.001)


def _inside(holder: "subprocess.Popen[str]") -> tuple[str, ...]:
    return ("nsenter", "--target", str(holder.pid), "--net")


def _ip(where: "subprocess.Popen[str] | None", *words: str) -> None:
    before = _inside(where) if where else ()
    subprocess.run([*before, "ip", *words], check=True, capture_output=True, text=True)
