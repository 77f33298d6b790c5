"""Random number generators of a process: torch (all GPUs), numpy and Python."""

import random
import sys
from typing import Any

import torch


def capture_generators() -> dict[str, Any]:
    """Return the state of the generators as plain values."""
    state: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        state["cuda"] = torch.cuda.get_rng_state_all()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        state["numpy"] = [str(name), [int(key) for key in keys], *(_plain(one) for one in rest)]
    return state


def restore_generators(state: dict[str, Any]) -> None:
    """Restore the state of the generators; GPUs missing here or in the saved state are skipped."""
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if "cuda" in state and torch.cuda.is_available():
        for device, one in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(one, device)
    if "numpy" in state:
        import numpy as np

        name, keys, *rest = state["numpy"]
        np.random.set_state((name, np.asarray(keys, dtype=np.uint32), *rest))


def _plain(value: Any) -> int | float:
    return float(value) if isinstance(value, float) else int(value)
