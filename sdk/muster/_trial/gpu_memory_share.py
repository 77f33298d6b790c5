"""GPU memory limits of a trial with a fractional slot."""

import sys


def limit_gpu_memory(part: float) -> None:
    """Limit torch to this share of the GPU's memory, so that a trial that exceeds it fails instead of its neighbours.

    Works only if torch is imported before `muster.trial()`, as in a worker's warm processes.
    """
    torch = sys.modules.get("torch")
    if 0 < part < 1 and torch is not None and torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(part)
