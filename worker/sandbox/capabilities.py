"""Capabilities of this process, of which containers withhold some from root."""

from pathlib import Path

_NUMBERS = {
    "chown": 0,
    "dac_override": 1,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "net_admin": 12,
    "sys_chroot": 18,
    "sys_admin": 21,
}


def missing_capabilities(*names: str) -> list[str]:
    """Return those of these capabilities that this process does not have, as `CAP_SYS_ADMIN`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return [f"CAP_{name.upper()}" for name in names if not effective >> _NUMBERS[name] & 1]
