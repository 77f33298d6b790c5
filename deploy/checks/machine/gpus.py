"""GPUs of this machine and their driver."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from deploy.checks.findings import Finding, error, ok
from muster.errors import Rejected
from worker.machine.slots import find_slots
from worker.settings import WorkerSection

WHY = "Runs get slots for the GPUs that the driver reports. A driver that does not answer leaves the GPUs unused."
DEVICES = Path("/sys/bus/pci/devices")
_NVIDIA, _DISPLAY = "0x10de", "0x03"
_VERSION = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
_DRIVER = "install NVIDIA's driver with nvidia-smi, or load it (`modprobe nvidia`); after an update of the driver, restart the machine"


def check_gpus(own: WorkerSection, environment: Mapping[str, str], devices: Path = DEVICES) -> Finding:
    """Compare the GPUs on the PCI bus and in the settings with those that the driver reports."""
    built_in = count_nvidia(devices)
    try:
        slots = find_slots(own, environment)
    except Rejected as refusal:
        return error(
            f"{refusal.message}; the machine has {built_in}", f"{_DRIVER}; or correct MUSTER_WORKER__SLOTS"
        )
    found = len([slot for slot in slots if slot.kind != "cpu"])
    if own.kind in ("cuda", "rocm") and not found:
        return error(
            f"MUSTER_WORKER__KIND={own.kind}, but the driver reports no GPU; the machine has {built_in} of NVIDIA",
            f"{_DRIVER}; or set MUSTER_WORKER__KIND=cpu",
        )
    if built_in and not found and own.kind is None and own.slots is None:
        return error(
            f"the machine has {built_in} NVIDIA GPUs, but the driver reports none",
            f"{_DRIVER}; or set MUSTER_WORKER__KIND=cpu",
        )
    if not found:
        return ok(f"slots are cores: {len(slots)}")
    names = ", ".join(sorted({slot.name for slot in slots}))
    return ok(f"{found} slots: {names}, driver {_driver_version()}")


def count_nvidia(devices: Path) -> int:
    """Return the number of NVIDIA's display devices on the PCI bus."""
    return sum(
        _read(device / "vendor") == _NVIDIA and _read(device / "class").startswith(_DISPLAY)
        for device in (devices.iterdir() if devices.is_dir() else ())
    )


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _driver_version() -> str:
    try:
        found = subprocess.run(_VERSION, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.partition("\n")[0].strip()
