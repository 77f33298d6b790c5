"""Checks before anything starts, so that failures have a clear message."""

import os
import shutil
from pathlib import Path

from deploy.embedded.host.ports import describe_listener, is_free
from deploy.embedded.options import Options
from muster.errors import Rejected

NEEDED_BYTES = 300 * 1024 * 1024


def check_disk(home: Path) -> None:
    """Check free disk space and permissions.

    Raises:
        Rejected: the check failed.
    """
    if not os.access(home, os.W_OK | os.X_OK):
        raise Rejected(
            "no_permission", f"{home} is not writable", hint="set MUSTER_HOME to a writable directory"
        )
    free = shutil.disk_usage(home).free
    if free < NEEDED_BYTES:
        raise Rejected(
            "disk_full",
            f"the disk that holds {home} has {free // 2**20} MiB free; Muster needs {NEEDED_BYTES // 2**20} MiB",
            hint="free some space, or set MUSTER_HOME to a directory on another disk",
        )


def check_ports(options: Options) -> None:
    """Check that the ports are free.

    Raises:
        Rejected: a port is in use; the message names the process if it is visible.
    """
    named = (("MUSTER_GATEWAY__PORT", options.rest_port), ("MUSTER_GATEWAY__GRPC_PORT", options.grpc_port))
    for setting, port in named:
        if port and not is_free(port):
            raise Rejected(
                "port_in_use",
                f"port {port} is in use{describe_listener(port)}",
                hint=f"stop that process, or set {setting} to another port (0: any free one)",
            )
