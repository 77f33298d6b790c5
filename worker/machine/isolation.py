"""The isolation of runs on this worker from each other."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from shared.messages.trial_specs import Isolation
from worker.sandbox.sandboxing import is_sandboxing
from worker.settings import WorkerSection


@dataclass(frozen=True, slots=True)
class OfferedIsolation:
    """The isolation that this worker offers. `detail`: its limits, in one sentence."""

    kind: Isolation
    detail: str


def offered_isolation(settings: WorkerSection) -> OfferedIsolation:
    """Return the isolation of runs with these settings."""
    if is_sandboxing(settings):
        return OfferedIsolation("sandbox", "each run has its own user and namespaces")
    if settings.user is None:
        return OfferedIsolation("none", "trials run as the worker's own user")
    return OfferedIsolation(
        "user", f"all trials run as the user {settings.user} and share the host's network"
    )


def save_isolation(path: Path, settings: WorkerSection, offered: OfferedIsolation) -> None:
    """Write what the worker offers, for `muster status` on this machine."""
    with suppress(OSError):  # a full disk stops runs, not the worker
        path.write_text(json.dumps({"pool": settings.pool, **asdict(offered)}))
