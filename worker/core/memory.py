"""Which memory a rank ran out of, by the error that it ended with. Pure."""

_OF_GPUS = (
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA error: out of memory",
    "CudaError: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
_OF_THE_MACHINE = ("MemoryError", "can't allocate memory", "[Errno 12]", "std::bad_alloc")
_TORCHS = "OutOfMemoryError"

GPU = "the trial ran out of GPU memory: a smaller batch, mixed precision or more slots per trial need less of it on each"
HOST = "the trial ran out of memory: smaller batches or fewer loader workers need less of it"
KILLED = "the kernel killed a process of the trial because memory ran out: smaller batches or fewer loader workers need less of it"


def lack_of_memory(error: str) -> str | None:
    """What ran out, and what helps; `error` is the error that a rank named. None where it was something else."""
    if _TORCHS in error.partition(":")[0] or any(sign in error for sign in _OF_GPUS):
        return GPU
    return HOST if any(sign in error for sign in _OF_THE_MACHINE) else None
