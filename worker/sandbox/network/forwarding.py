"""Lets the machine forward packets of namespaces, and nothing else if it forwarded nothing before."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worker.sandbox.network.commands import NetworkFailed, execute, kernel_value, nft, set_kernel_value

TABLE_PREFIX = "muster-"
LINK_PREFIX = "muster"
_LOCK = Path("/run/muster-network.lock")
_GUARD = "muster"
_FORWARD = "ipv4/ip_forward"


def begin_forwarding() -> None:
    """Turn forwarding on. If it was off, a table denies what neither comes from nor goes to a namespace of any worker."""
    with _machine_lock():
        if kernel_value(_FORWARD) != "0":
            return
        theirs = f'iifname != "{LINK_PREFIX}*" oifname != "{LINK_PREFIX}*" drop'
        nft(
            f"add table inet {_GUARD}",
            f"add chain inet {_GUARD} forwarding {{ type filter hook forward priority filter; }}",
            f"flush chain inet {_GUARD} forwarding",
            f"add rule inet {_GUARD} forwarding {theirs}",
        )
        set_kernel_value(_FORWARD, "1")


def end_forwarding(table: str) -> None:
    """Delete the worker's table; the machine's last worker turns forwarding off if the first turned it on."""
    with _machine_lock():
        tables = _tables()
        if table in tables:
            nft(f"delete table inet {table}")
        if _GUARD in tables and not any(name.startswith(TABLE_PREFIX) for name in tables - {table}):
            set_kernel_value(_FORWARD, "0")
            nft(f"delete table inet {_GUARD}")


def _tables() -> set[str]:
    found = json.loads(execute("nft", "-j", "list", "tables"))["nftables"]
    return {one["table"]["name"] for one in found if one.get("table", {}).get("family") == "inet"}


@contextmanager
def _machine_lock() -> Iterator[None]:
    try:
        file = _LOCK.open("w")
    except OSError as error:
        raise NetworkFailed(f"{_LOCK} cannot be opened: {error.strerror}") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
