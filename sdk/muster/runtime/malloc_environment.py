"""How a fork's C library keeps memory: what its environment says of glibc's allocator, as a program begun anew would obey it."""

import ctypes
import os

# The numbers that mallopt(3) gives them.
_PARAMETERS = {"MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_TOP_PAD_": -2, "MALLOC_MMAP_THRESHOLD_": -3}


def obey_environment() -> None:
    """Set the allocator's thresholds (bytes); a word that is no number is left alone, as glibc does, and so is another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, parameter in _PARAMETERS.items():
        value = os.environ.get(name, "")
        if mallopt is not None and value.isdecimal():
            mallopt(parameter, min(int(value), 2**31 - 1))
