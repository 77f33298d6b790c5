"""Settings of glibc's allocator in a fork: applies its environment variables, as a new program would."""

import ctypes
import os

# Parameter numbers of mallopt(3).
_PARAMETERS = {"MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_TOP_PAD_": -2, "MALLOC_MMAP_THRESHOLD_": -3}


def obey_environment() -> None:
    """Set the allocator's thresholds in bytes; ignore invalid numbers, as glibc does, and other C libraries."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, parameter in _PARAMETERS.items():
        value = os.environ.get(name, "")
        if mallopt is not None and value.isdecimal():
            mallopt(parameter, min(int(value), 2**31 - 1))
