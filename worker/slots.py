"""What this machine has to give: GPUs, else cores. Nothing is imported that would wake a GPU's driver in this process."""

import os
import subprocess

from muster.errors import Rejected
from shared.messages.runs import Slot
from shared.messages.specs import SlotKind
from worker.settings import WorkerSettings

_QUERY = ("nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv,noheader,nounits")


def find_slots(settings: WorkerSettings) -> tuple[Slot, ...]:
    """The slots of this machine, by what is set, else what is found.

    Raises:
        Rejected: More GPUs are asked for than there are (`slots_missing`).
    """
    gpus = () if settings.kind == "cpu" else _find_gpus()
    kind: SlotKind = settings.kind or ("cuda" if gpus else "cpu")
    if kind == "cpu":
        count = settings.slots if settings.slots is not None else len(os.sched_getaffinity(0))
        return tuple(Slot(id=index, kind="cpu", name="core") for index in range(count))
    count = settings.slots if settings.slots is not None else len(gpus)
    if count > len(gpus):
        raise Rejected("slots_missing", f"{count} GPUs are asked for, {len(gpus)} were found by nvidia-smi")
    return gpus[:count]


def _find_gpus() -> tuple[Slot, ...]:
    try:
        found = subprocess.run(_QUERY, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(_read_gpu(line) for line in found.stdout.splitlines() if line.count(",") >= 2)


def _read_gpu(line: str) -> Slot:
    index, name, memory = (part.strip() for part in line.split(",")[:3])
    size = int(memory) * 1024**2 if memory.isdigit() else None
    return Slot(id=int(index), kind="cuda", name=name, memory_bytes=size)
