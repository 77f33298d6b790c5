"""Inspects processes of this machine."""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from muster.wire.heartbeat import STACKS_SIGNAL
from worker.core.resource_usage import Usage

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOOPBACK = "lo"


class LocalProcesses:
    """Reads the kernel's process tables."""

    def session_of(self, pid: int) -> int:
        """See `Processes`."""
        try:
            return os.getsid(pid) if pid > 0 else 0
        except OSError:
            return 0

    def find(self, pid: int, sessions: Collection[int]) -> int:
        """See `Processes`. Usually it leads its session."""
        if not pid:
            return 0
        if found := next((one for one in sessions if _own_number(one) == pid), 0):
            return found
        others = (one for one in _living() if self.session_of(one) in sessions)
        return next((one for one in others if _own_number(one) == pid), 0)

    def used_s(self) -> dict[int, float]:
        """See `Processes`."""
        used: dict[int, float] = {}
        for found in _stats(_living()):
            session = int(found[3])
            used[session] = used.get(session, 0.0) + sum(map(int, found[11:13])) * _TICK_S
        return used

    def usage(self, sessions: Collection[int]) -> Usage:
        """Return the total usage. Disk counters of another user's processes are visible to root only."""
        pids = [pid for pid in _living() if self.session_of(pid) in sessions]
        stats = list(_stats(pids))
        disks = [_named_numbers(_read(pid, "io")) for pid in pids]
        received, sent = _network(pids[0]) if pids else (0, 0)
        return Usage(
            at_s=time.monotonic(),
            processes=len(stats),
            processor_s=sum(sum(map(int, found[11:15])) for found in stats) * _TICK_S,
            memory_bytes=sum(int(found[21]) for found in stats) * _PAGE_BYTES,
            read_bytes=sum(found.get("read_bytes", 0) for found in disks),
            written_bytes=sum(found.get("write_bytes", 0) for found in disks),
            received_bytes=received,
            sent_bytes=sent,
        )

    def ask_stacks(self, pid: int) -> None:
        """Send the signal that makes a rank dump its stacks."""
        with suppress(OSError):
            os.kill(pid, STACKS_SIGNAL)


def _living() -> Iterator[int]:
    return (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())


def _own_number(pid: int) -> int:
    """Return the number of a process in its own PID namespace; 0 if it has ended."""
    numbers = [line for line in _read(pid, "status").splitlines() if line.startswith("NSpid:")]
    return int(numbers[0].split()[-1]) if numbers else 0


def _stats(pids: Iterable[int]) -> Iterator[list[str]]:
    """Yield the fields of each living process after its name, which may contain anything."""
    for pid in pids:
        if found := _read(pid, "stat").rpartition(")")[2].split():
            yield found


def _read(pid: int, name: str) -> str:
    """Return a file of a process; empty if the process has ended or is not readable."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def _named_numbers(text: str) -> dict[str, int]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): int(number) for name, _, number in pairs if number.strip().isdigit()}


def _network(pid: int) -> tuple[int, int]:
    """Return the bytes that the network namespace of a process received and sent, without loopback traffic."""
    received = sent = 0
    for line in _read(pid, "net/dev").splitlines():
        name, is_interface, numbers = line.partition(":")
        if is_interface and name.strip() != _LOOPBACK:
            counts = numbers.split()
            received, sent = received + int(counts[0]), sent + int(counts[8])
    return received, sent
