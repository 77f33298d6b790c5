"""The isolation of runs on this worker from each other."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from shared.messages.trial_specs import Isolation
from worker.sandbox.sandboxing import is_sandboxing
from worker.sandbox.user_namespaces import refusal_of_sandboxes
from worker.settings import WorkerSection

_AS_ROOT = "each run has its own user and namespaces"
_ROOTLESS = "each run has its own namespaces; all have the worker's user and the machine's network"
_MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class OfferedIsolation:
    """The isolation that this worker offers. `detail`: its limits, in one sentence."""

    kind: Isolation
    detail: str


def offered_isolation(settings: WorkerSection) -> OfferedIsolation:
    """Return the isolation of runs with these settings."""
    is_root = os.geteuid() == 0
    if is_sandboxing(settings):
        return OfferedIsolation("sandbox", _AS_ROOT if is_root else _ROOTLESS)
    if settings.user is None:
        refusal = None if is_root or settings.sandbox == "none" else refusal_of_sandboxes()
        why = f": {refusal}" if refusal else ""
        return OfferedIsolation("none", f"trials run as the worker's own user{why}"[:_MAX_TEXT])
    return OfferedIsolation(
        "user", f"all trials run as the user {settings.user} and share the host's network"
    )


def save_isolation(path: Path, settings: WorkerSection, offered: OfferedIsolation) -> None:
    """Write what the worker offers, for `muster status` on this machine."""
    with suppress(OSError):  # a full disk stops runs, not the worker
        path.write_text(json.dumps({"pool": settings.pool, **asdict(offered)}))
