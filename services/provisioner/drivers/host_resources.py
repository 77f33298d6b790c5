"""Resources of this machine for workers, and the part of the environment that they inherit."""

import os
import subprocess
from collections.abc import Mapping

_GPU_QUERY = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
_SYSTEM = frozenset(
    {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV"}
    | {"CUDA_HOME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "MUSTER_FAULTS", "MUSTER_PART_OF"}
)
_SECTIONS = ("MUSTER_WORKER__", "MUSTER_TELEMETRY__", "MUSTER_LOG__")


def find_gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the usable GPUs; none without a driver."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return tuple(item.strip() for item in visible.split(",") if item.strip() not in ("", "-1"))
    try:
        found = subprocess.run(_GPU_QUERY, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in found.stdout.splitlines() if line.strip().isdigit())


def count_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what every worker inherits: system paths, worker, telemetry and log settings; no credentials of a service."""
    return {
        name: value
        for name, value in environment.items()
        if name in _SYSTEM or (name.startswith(_SECTIONS) and name != "MUSTER_WORKER__JOIN_TOKEN")
    }
