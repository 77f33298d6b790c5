"""How busy GPUs are: by NVML where `nvidia-ml-py` is installed and finds any; elsewhere there is nothing of it."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import structlog

from shared.messages.specs import SlotKind
from worker.core.profile import GpuUse

_MODULE = "pynvml"
_log = structlog.get_logger()


class Gpus(Protocol):
    """The port."""

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """What the GPUs with these numbers do now; those that cannot be asked are left out."""


class NoGpus:
    """A machine without."""

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """As the port says."""
        return {}


class NvidiaGpus:
    """By NVIDIA's management library. It is loaded at the first look, since it wakes the driver: where no run is profiled, never."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._is_missing = False

    def look(self, slots: Sequence[int]) -> Mapping[int, GpuUse]:
        """As the port says."""
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
        _log.warning("profiles are without GPUs", reason=reason)


def open_gpus(kind: SlotKind) -> Gpus:
    """What looks at the GPUs of a machine with slots of this kind."""
    return NvidiaGpus() if kind == "cuda" else NoGpus()
