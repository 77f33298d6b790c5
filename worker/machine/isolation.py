"""The isolation of runs on this worker from each other."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from shared.messages.trial_specs import Isolation
from worker.sandbox.sandboxing import why_no_sandboxes
from worker.settings import WorkerSection

_AS_ROOT = "each run has its own user and namespaces"
_WITHOUT_ROOT = "each run has its own namespaces, all have the worker's user"
_CONTAINERS = "each run has its own container, runs without an image are refused"
_CONTAINERS_WITHOUT_ROOT = f"{_CONTAINERS}, all have the worker's user"
_OWN_NETWORK = "each run has a network of its own"
NO_BOUNDARY = "no network boundary: runs use the machine's network"
_MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class OfferedIsolation:
    """The isolation that this worker offers. `detail`: its limits, in one sentence."""

    kind: Isolation
    detail: str


def offered_isolation(settings: WorkerSection, network: str = "") -> OfferedIsolation:
    """Return the isolation of runs with these settings. `network`: what separates their networks, from `describe_network`; empty: not known yet."""
    refusal = why_no_sandboxes(settings)
    if refusal is None:
        as_root, without = (_AS_ROOT, _WITHOUT_ROOT)
        if settings.sandbox == "container":
            as_root, without = (_CONTAINERS, _CONTAINERS_WITHOUT_ROOT)
        return _offer("sandbox", as_root if os.geteuid() == 0 else without, network)
    # Without sandboxes there is no boundary whatever the settings; the text must have room for the refusal.
    network = NO_BOUNDARY if network else ""
    if settings.user is None:
        return _offer("none", "trials run as the worker's own user", network, refusal.message)
    return _offer("user", f"all trials run as the user {settings.user}", network, refusal.message)


def describe_network(why_none: str | None) -> str:
    """Describe the network of runs. `why_none`: why they have none of their own; None: they have one."""
    return _OWN_NETWORK if why_none is None else f"{NO_BOUNDARY}, because {why_none}"


def save_isolation(path: Path, settings: WorkerSection, offered: OfferedIsolation) -> None:
    """Write what the worker offers, for `muster status` on this machine."""
    with suppress(OSError):  # a full disk stops runs, not the worker
        path.write_text(json.dumps({"pool": settings.pool, **asdict(offered)}))


def _offer(kind: Isolation, *limits: str) -> OfferedIsolation:
    return OfferedIsolation(kind, "; ".join(filter(None, limits))[:_MAX_TEXT])
