"""Detects the slots of this machine: GPUs, else cores. Imports nothing that would wake a GPU's driver in this process."""

import os
import subprocess
from collections.abc import Mapping

from muster.errors import Rejected
from shared.messages.allocations import Slot
from shared.messages.trial_specs import SlotKind
from worker.settings import WorkerSection

_QUERY = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")
VISIBLE = "CUDA_VISIBLE_DEVICES"


def find_slots(settings: WorkerSection, environment: Mapping[str, str]) -> tuple[Slot, ...]:
    """Return the configured slots, else the detected ones. `CUDA_VISIBLE_DEVICES` restricts GPUs.

    Raises:
        Rejected: More GPUs are configured than exist (`slots_missing`).
    """
    gpus = () if settings.kind == "cpu" else _find_gpus(environment.get(VISIBLE))
    kind: SlotKind = settings.kind or ("cuda" if gpus else "cpu")
    if kind == "cpu":
        count = settings.slots if settings.slots is not None else len(os.sched_getaffinity(0))
        return tuple(Slot(id=index, kind="cpu", name="core") for index in range(count))
    count = settings.slots if settings.slots is not None else len(gpus)
    if count > len(gpus):
        raise Rejected("slots_missing", f"{count} GPUs are configured, but nvidia-smi found {len(gpus)}")
    return gpus[:count]


def _find_gpus(visible: str | None) -> tuple[Slot, ...]:
    try:
        found = subprocess.run(_QUERY, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return read_gpus(found.stdout, visible)


def read_gpus(listing: str, visible: str | None) -> tuple[Slot, ...]:
    """Parse nvidia-smi's listing; with `visible`, return the GPUs named there by index or UUID, in that order."""
    found: dict[str, Slot] = {}
    for line in listing.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 4 and parts[0].isdigit():
            size = int(parts[3]) * 1024**2 if parts[3].isdigit() else None
            slot = Slot(id=int(parts[0]), kind="cuda", name=parts[2], memory_bytes=size)
            found[parts[0]] = found[parts[1]] = slot
    if visible is None:
        return tuple(dict.fromkeys(found.values()))
    names = (name.strip() for name in visible.split(","))
    return tuple(found[name] for name in names if name in found)
