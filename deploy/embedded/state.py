"""The state file that `muster status` and `muster down` read: replaced atomically, written by the supervisor only."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from deploy.embedded.host.processes import ProcessId
from deploy.embedded.options import STATE_FILE

Phase = Literal["starting", "ready", "stopping", "stopped", "failed"]
PartState = Literal["waiting", "starting", "running", "restarting", "stopped", "external"]


@dataclass(frozen=True, slots=True)
class Part:
    """One server or service.

    Attributes:
        restarted_for: the reason of the last restart.
        trouble: its current failure while it runs; empty: none.
    """

    name: str
    kind: Literal["server", "service"]
    state: PartState
    process: ProcessId | None = None
    ports: tuple[int, ...] = ()
    restarts: int = 0
    restarted_for: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The state of one platform.

    Attributes:
        phase: the current phase.
        supervisor: the supervisor's process.
        message: the reason of a failure.
        url, grpc: the gateway's addresses.
        parts: servers and services in start order.
    """

    phase: Phase
    supervisor: ProcessId
    url: str = ""
    grpc: str = ""
    message: str = ""
    parts: tuple[Part, ...] = ()

    def save(self, home: Path) -> None:
        """Replace the file."""
        fresh = home / f"{STATE_FILE}.new"
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(home / STATE_FILE)


def load_state(home: Path) -> State | None:
    """Return the last supervisor's state; None if there is none or it is unreadable."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        raw = json.loads((home / STATE_FILE).read_text())
        parts = tuple(_part(part) for part in raw.pop("parts"))
        supervisor = ProcessId(**raw.pop("supervisor"))
        return State(**raw, supervisor=supervisor, parts=parts)
    return None


def _part(raw: dict[str, object]) -> Part:
    process, ports = raw.pop("process"), raw.pop("ports")
    assert isinstance(ports, list)
    identity = ProcessId(**process) if isinstance(process, dict) else None
    return Part(**raw, process=identity, ports=tuple(ports))  # type: ignore[arg-type]
