"""Finds the toolchain for a Horovod build, or reports what to install."""

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

HOROVOD_VERSION = "0.28.1"
PATCH_LEVEL = 2
"""Incremented with each change of `wheel`'s patches, so that older wheels are not reused."""
SYSTEM_NCCL_HEADERS = (Path("/usr/include"), Path("/usr/local/include"), Path("/usr/local/cuda/include"))


class SetupFailed(Exception):
    """Set-up failed; the message says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Nccl:
    """Paths of NCCL and CUDA, for a build with GPU communication."""

    cuda_home: Path
    cuda_version: str
    include: Path
    library: Path


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The properties that identify a compatible wheel.

    Attributes:
        torch_version: Full version with its local part (`2.13.0+cpu`).
        nccl: CUDA and NCCL, None for a build on Gloo alone.
    """

    torch_version: str
    nccl: Nccl | None

    @property
    def local_version(self) -> str:
        """The local part of the wheel's version; it is the cache key and appears in `pip list`."""
        wires = f"nccl{self.nccl.cuda_version}" if self.nccl else "gloo"
        return ".".join(re.findall(r"[a-z0-9]+", f"torch{self.torch_version} {wires} p{PATCH_LEVEL}".lower()))

    @property
    def key(self) -> str:
        """The directory name of the cached wheel."""
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return f"horovod-{HOROVOD_VERSION}-{self.local_version}-{python}-{platform.machine()}"


def find_toolchain() -> Toolchain:
    """Return the toolchain of this machine.

    Raises:
        SetupFailed: torch is not installed.
    """
    try:
        import torch
    except ImportError as missing:
        raise SetupFailed(f"torch is not installed ({missing}); run `make setup`") from missing
    cuda = torch.version.cuda
    return Toolchain(str(torch.__version__), _find_nccl(Path(torch.__file__).parents[1]) if cuda else None)


def require_compiler() -> None:
    """Check the system's build requirements.

    Raises:
        SetupFailed: A compiler, make or Python's headers are missing.
    """
    for tool in ("g++", "make"):
        if shutil.which(tool) is None:
            raise SetupFailed(
                f"`{tool}` was not found; install it (`apt install g++ make`) and run `make setup` again"
            )
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    if not headers.exists():
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-dev"
        raise SetupFailed(
            f"{headers} was not found; install it (`apt install {package}`) and run `make setup` again"
        )


def _find_nccl(site_packages: Path) -> Nccl | None:
    """Return CUDA's compiler and NCCL if both exist; prefer NCCL from torch's own wheel."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return None
    output = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    release = re.search(r"release (\d+\.\d+)", output)
    headers = next(
        (d for d in (site_packages / "nvidia/nccl/include", *SYSTEM_NCCL_HEADERS) if _is_nccl(d)), None
    )
    library = headers and next(
        (lib for d in _library_folders(headers) for lib in sorted(d.glob("libnccl.so*"))), None
    )
    if release is None or headers is None or library is None:
        return None
    return Nccl(_cuda_home(Path(nvcc)), release[1], headers, library)


def _is_nccl(folder: Path) -> bool:
    return (folder / "nccl.h").exists()


def _library_folders(headers: Path) -> tuple[Path, ...]:
    machine = f"{platform.machine()}-linux-gnu"
    return (headers.parent / "lib", headers.parent / "lib64", headers.parent / "lib" / machine)


def _cuda_home(nvcc: Path) -> Path:
    """Return CUDA's root as nvcc reports it, because the program on the PATH may be a wrapper."""
    output = subprocess.run([nvcc, "--dryrun", "x.cu"], capture_output=True, text=True, check=False).stderr
    top = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(top[1]).resolve() if top else nvcc.resolve().parents[1]
