"""Network namespaces of a test: machines and the internet between them, and commands inside."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.missing_dependency import need

_CLONE_NEWNET = 0x40000000
_PATIENCE_S = 20
_libc = ctypes.CDLL(None, use_errno=True)


def need_networks() -> None:
    """Skip the test where networks cannot be made."""
    need(("ip", "bridge", "nft", "nsenter"), "apt-get install iproute2 nftables util-linux")
    if os.geteuid() != 0:
        pytest.skip("networks of runs need root")
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"network namespaces are not permitted here: {probe.stderr.strip()}")


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """Make a namespace with a loopback, and yield its file."""
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        with inside(f"/run/netns/{name}"):  # a namespace begins with the machine's value
            Path("/proc/sys/net/ipv4/ip_forward").write_text("0")
        yield f"/run/netns/{name}"
    finally:
        run("ip", "netns", "delete", name)


def link(first: str, second: str, one: str, other: str) -> None:
    """Join two namespaces by links with these names, which are up."""
    run("ip", "link", "add", one, "netns", first, "type", "veth", "peer", "name", other, "netns", second)
    run("ip", "-n", first, "link", "set", one, "up")
    run("ip", "-n", second, "link", "set", other, "up")


def run(*command: str) -> str:
    """Run a command and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def python_in(path: str, code: str, *arguments: str) -> str:
    """Run Python code in the namespace of this file, as root; return what it prints."""
    return run("nsenter", f"--net={path}", sys.executable, "-c", code, *arguments).strip()


@contextmanager
def server_in(path: str, code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run Python code in a namespace until the end of the block; it has started when it prints a line."""
    command: Sequence[str] = ("nsenter", f"--net={path}", sys.executable, "-c", code, *arguments)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=_PATIENCE_S)


@contextmanager
def inside(path: str) -> Iterator[None]:
    """Move this thread into a namespace, and back at the end."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(path)
        yield
    finally:
        assert _libc.setns(own, _CLONE_NEWNET) == 0
        os.close(own)


def _enter(path: str) -> None:
    descriptor = os.open(Path(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", path)
    finally:
        os.close(descriptor)
