"""The id of this host, by which the scheduler separates tenants in exclusive pools."""

import re
import socket
from pathlib import Path

from shared.messages.trial_specs import MACHINE_LENGTH
from worker.settings import WorkerSection

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine_id(settings: WorkerSection, boot_id: Path = BOOT_ID) -> str:
    """Return the configured id, else one that is equal for all workers on this host and differs between hosts.

    It is the kernel's boot id: machines from one image have the same `/etc/machine-id`, and containers on one host have different ones. Without
    it, the host name is used.
    """
    if settings.machine:
        return settings.machine
    try:
        return boot_id.read_text().strip().replace("-", "")[:16] or _host_name()
    except OSError:
        return _host_name()


def _host_name() -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", socket.gethostname())[:MACHINE_LENGTH] or "unknown"
