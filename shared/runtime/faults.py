"""Named fault points at which a test kills, hangs, breaks or delays a process. Without faults a point costs one dictionary lookup.

`MUSTER_FAULTS="searcher.after_commit:2:kill,relay.before_mark:1:delay:0.5"` kills at the second pass of one point and delays the first pass
of another by half a second.
"""

import os
import signal
import time
from dataclasses import dataclass
from typing import Literal

from shared.errors import Broken

Action = Literal["kill", "hang", "raise", "delay"]

VARIABLE = "MUSTER_FAULTS"
_HANG_S = 3600.0
_names: set[str] = set()


@dataclass(slots=True)
class _Fault:
    nth: int
    action: Action
    seconds: float
    passed: int = 0


def register(name: str) -> str:
    """Register the name, so that tests can enumerate all points; returns it for a module constant."""
    _names.add(name)
    return name


def names() -> frozenset[str]:
    """Return all points registered by the modules imported so far."""
    return frozenset(_names)


def point(name: str) -> None:
    """Trigger the fault that is set for this pass of the point, if any."""
    if not _faults:
        return
    fault = _faults.get(name)
    if fault is None:
        return
    fault.passed += 1
    if fault.passed == fault.nth:
        _act(name, fault)


def configure(text: str) -> None:
    """Set the faults from the variable's text. Raises ValueError with the invalid part."""
    _faults.clear()
    for part in filter(None, text.split(",")):
        name, _, rest = part.partition(":")
        nth, _, what = rest.partition(":")
        action, _, seconds = what.partition(":")
        if not nth.isdigit() or action not in ("kill", "hang", "raise", "delay"):
            raise ValueError(
                f"{VARIABLE}: {part!r} does not have the format name:nth:kill|hang|raise|delay[:seconds]"
            )
        _faults[name] = _Fault(int(nth), action, float(seconds or 0))  # type: ignore[arg-type]


def _act(name: str, fault: _Fault) -> None:
    match fault.action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise Broken(f"fault point {name} was set to raise")
        case "hang":
            time.sleep(fault.seconds or _HANG_S)
        case "delay":
            time.sleep(fault.seconds)


_faults: dict[str, _Fault] = {}
configure(os.environ.get(VARIABLE, ""))
