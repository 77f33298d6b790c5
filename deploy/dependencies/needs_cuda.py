"""`python -m deploy.dependencies.needs_cuda`: succeeds if the installed torch is a build for CUDA, which needs further packages."""

import sys
from importlib.metadata import requires


def needs_cuda() -> bool:
    """Whether the installed torch depends on CUDA's packages."""
    return any(one.startswith(("nvidia-", "cuda-")) for one in requires("torch") or ())


if __name__ == "__main__":
    sys.exit(not needs_cuda())
