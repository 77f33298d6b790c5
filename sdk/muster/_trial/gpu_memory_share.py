"""What a trial may use of a GPU that it shares."""

import sys


def limit_gpu_memory(part: float) -> None:
    """Has torch take no more of the GPU's memory than this part: beyond it, the trial that asks runs out, not its neighbours.

    Only where the script has imported torch before `muster.trial()`, as it has in a worker's warm processes.
    """
    torch = sys.modules.get("torch")
    if 0 < part < 1 and torch is not None and torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(part)
