"""The clock of this machine against those of the servers that it uses."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from deploy.checks.findings import Finding, error, ok, warning
from shared.clock import Clock

WARNING_AFTER = timedelta(seconds=2)
ERROR_AFTER = timedelta(seconds=30)
WHY = "Tokens, certificates and signed uploads are refused, and logs and metrics have wrong times, if clocks differ."
_SYNCHRONISE = "run a time service such as chrony or systemd-timesyncd on this machine and on the server"
_NOT_SYNCHRONISED = 5
_TIMEX_BYTES = 512


@dataclass(frozen=True, slots=True)
class RemoteClock:
    """The clock of a server. `read` asks the server, and raises if it does not answer."""

    server: str
    read: Callable[[], datetime]


def check_clock(remote: Sequence[RemoteClock], clock: Clock) -> Finding:
    """Compare with all servers that answer. The time of the question and the answer is allowed for."""
    differences: list[tuple[timedelta, str]] = []
    silent: list[str] = []
    for one in remote:
        try:
            before, there, after = clock.now(), one.read(), clock.now()
        except Exception:  # noqa: BLE001 - the check of this server reports it
            silent.append(one.server)
            continue
        least = max(before - there, there - after, timedelta(0))
        differences.append(
            (least, f"{least.total_seconds():.1f} s {'behind' if there > after else 'ahead of'} {one.server}")
        )
    if not differences:
        return _alone(silent)
    largest, text = max(differences)
    if largest < WARNING_AFTER:
        return ok(
            f"less than {WARNING_AFTER.total_seconds():g} s from {', '.join(one.server for one in remote if one.server not in silent)}"
        )
    return (error if largest >= ERROR_AFTER else warning)(f"this machine's clock is {text}", _SYNCHRONISE)


def _alone(silent: Sequence[str]) -> Finding:
    whom = f"{', '.join(silent)} did not answer" if silent else "the settings name no server to compare with"
    if is_synchronised():
        return ok(f"a time service keeps it; {whom}")
    return warning(f"no time service keeps it, and {whom}", _SYNCHRONISE)


def is_synchronised() -> bool:
    """Whether the kernel reports that a time service keeps its clock."""
    found: int = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return found not in (-1, _NOT_SYNCHRONISED)
