"""Recognises out-of-memory errors, of GPU or host memory. Pure."""

_OF_GPUS = (
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA error: out of memory",
    "CudaError: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
_OF_THE_MACHINE = ("MemoryError", "can't allocate memory", "[Errno 12]", "std::bad_alloc")
_TORCHS = "OutOfMemoryError"

GPU = "the trial ran out of GPU memory: use smaller batches, mixed precision or more slots per trial"
HOST = "the trial ran out of memory: use smaller batches or fewer data loader workers"
KILLED = "the kernel killed a process of the trial because memory ran out: use smaller batches or fewer data loader workers"


def lack_of_memory(error: str) -> str | None:
    """Return the explanation with a remedy, or None for any other error. `error`: the error that a rank ended with."""
    if _TORCHS in error.partition(":")[0] or any(sign in error for sign in _OF_GPUS):
        return GPU
    return HOST if any(sign in error for sign in _OF_THE_MACHINE) else None
