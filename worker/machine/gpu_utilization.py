"""GPU utilisation, by NVML if `nvidia-ml-py` is installed."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import structlog

from shared.messages.trial_specs import SlotKind
from worker.core.resource_usage import GpuUse

_MODULE = "pynvml"
_log = structlog.get_logger()


class Gpus(Protocol):
    """The port for GPU utilisation."""

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """Return the current use of these GPUs; GPUs that cannot be queried are left out."""


class NoGpus:
    """A machine without GPUs."""

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """See `Gpus`."""
        return {}


class NvidiaGpus:
    """Uses NVML. It is loaded at the first call because it wakes the driver: never if no run is profiled."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._is_missing = False

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """See `Gpus`."""
        if self._nvml is None and not self._is_missing:
            self._load()
        found = {}
        for slot in slots if self._nvml else ():
            with suppress(self._nvml.NVMLError):
                handle = self._nvml.nvmlDeviceGetHandleByIndex(slot)
                busy = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                found[slot] = GpuUse(busy, int(self._nvml.nvmlDeviceGetMemoryInfo(handle).used))
        return found

    def _load(self) -> None:
        try:
            nvml = importlib.import_module(_MODULE)
        except ImportError:
            self._give_up("nvidia-ml-py is not installed")
            return
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            self._give_up(str(error))
            return
        self._nvml = nvml

    def _give_up(self, reason: str) -> None:
        self._is_missing = True
        _log.warning("profiles contain no GPU metrics", reason=reason)


def open_gpus(kind: SlotKind) -> Gpus:
    """Return the implementation for a kind of slots."""
    return NvidiaGpus() if kind == "cuda" else NoGpus()
