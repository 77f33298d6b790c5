"""The cached wheel: built once from Horovod's source archive, shared by all checkouts of a user.

A lock allows one build at a time; the wheel appears by a rename, so no reader sees a partial one.
"""

import fcntl
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.horovod.toolchain import HOROVOD_VERSION, Nccl, SetupFailed, Toolchain, require_compiler

LOCKS = Path(__file__).parent
"""Of Horovod's source archive and CMake: their versions with hashes."""
SPOKEN_EVERY_S = 15
TAIL_LINES = 15

# Torch 2.13 needs C++17; Horovod 0.28.1 sets 14 (and CUDA 11).
PATCHES = (
    ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 17)"),
    ("horovod/torch/CMakeLists.txt", "set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 17)"),
    ("horovod/common/ops/cuda/CMakeLists.txt", "set(CMAKE_CUDA_STANDARD 11)", "set(CMAKE_CUDA_STANDARD 17)"),
)
# A process set listens at the address of the host name, which /etc/hosts often maps to the loopback: gangs over several machines could not
# connect. The patch makes it use the gang's interface.
_OF_A_PROCESS_SET = """  attr device_attr;
  device_attr.iface = gloo_iface_;
  device_attr.ai_family = AF_UNSPEC;
  auto dev = CreateDevice(device_attr);

  global_ctx = global_context.ctx;"""
IFACE_PATCH = (
    "horovod/common/gloo/gloo_context.cc",
    _OF_A_PROCESS_SET,
    f"  gloo_iface_ = global_context.gloo_iface_;\n{_OF_A_PROCESS_SET}",
)
# Headers that Horovod's sources need but do not include: compilers before GCC 13 included them transitively.
INCLUDED = ("cstdint", "stdexcept", "string")
# Without NCCL, Horovod must not look for the CUDA toolkit because of torch's CUDA version: it uses Gloo.
GLOO_PATCHES = (
    ("cmake/Modules/FindPytorch.cmake", "(torch.version.cuda is not None)", "False"),
    ("CMakeLists.txt", "check_language(CUDA)", ""),
)


def cached_wheel(toolchain: Toolchain) -> Path:
    """Return the wheel for `toolchain`; build it if it is not cached.

    Raises:
        SetupFailed: The build is impossible or failed; the cache then contains only its log.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster" / "wheels"
    folder = cache / toolchain.key
    if wheel := _wheel_in(folder):
        return wheel
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one(cache / f"{toolchain.key}.lock"):
        return _wheel_in(folder) or _built(folder, toolchain)


def install(wheel: Path) -> None:
    """Install `wheel` without its requirements: constraints.txt pins them.

    Raises:
        SetupFailed: pip failed.
    """
    command = [*_pip("install"), "--no-deps", "--force-reinstall", str(wheel)]
    if subprocess.run(command, check=False).returncode:
        raise SetupFailed(f"pip could not install {wheel}; delete {wheel.parent} and run `make setup` again")


def _wheel_in(folder: Path) -> Path | None:
    return next(folder.glob("horovod-*.whl"), None)


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Horovod is being built by another set-up; waiting for its wheel …", flush=True)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _built(folder: Path, toolchain: Toolchain) -> Path:
    require_compiler()
    log = folder.parent / f"{folder.name}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as scratch:
        work = Path(scratch)
        archive = [
            *_pip("download"),
            *("--no-deps", "--no-build-isolation", "--no-binary", "horovod"),
            *("--require-hashes", "-r", str(LOCKS / "horovod.txt")),
        ]
        _run("fetching Horovod's source archive", archive, work, log)
        _run(
            "fetching cmake",
            [
                *_pip("install"),
                *("--target", str(work / "tools"), "--no-deps", "--require-hashes"),
                *("-r", str(LOCKS / "cmake.txt")),
            ],
            work,
            log,
        )
        source = _unpack(work)
        _patch(source, toolchain)
        build = [
            *_pip("wheel"),
            "-v",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(work / "built"),
            str(source),
        ]
        what = (
            f"building Horovod {HOROVOD_VERSION} for torch {toolchain.torch_version} (once, some 3 minutes)"
        )
        _run(what, build, work, log, _environment(work, toolchain))
        (work / "built").rename(folder)
    if wheel := _wheel_in(folder):
        return wheel
    raise SetupFailed(f"the build left no wheel in {folder}; see {log}")


def _pip(verb: str) -> list[str]:
    return [sys.executable, "-m", "pip", verb, "--quiet"]


def _unpack(work: Path) -> Path:
    with tarfile.open(next(work.glob("horovod-*.tar.gz"))) as archive:
        archive.extractall(work, filter="data")
    return work / f"horovod-{HOROVOD_VERSION}"


def _patch(source: Path, toolchain: Toolchain) -> None:
    for name, old, new in (*PATCHES, IFACE_PATCH, *(() if toolchain.nccl else GLOO_PATCHES)):
        text = (source / name).read_text()
        if old not in text:
            raise SetupFailed(f"{name} of Horovod {HOROVOD_VERSION} has no `{old.splitlines()[0]}` to patch")
        (source / name).write_text(text.replace(old, new))


def _environment(work: Path, toolchain: Toolchain) -> dict[str, str]:
    """Return the build's environment: PyTorch with Gloo, and NCCL where the toolchain has it."""
    cmake = work / "cmake"
    cmake.write_text(f'#!/bin/sh\nPYTHONPATH="{work}/tools" exec "{work}/tools/bin/cmake" "$@"\n')
    cmake.chmod(0o755)
    return {
        **os.environ,
        "HOROVOD_CMAKE": str(cmake),
        "HOROVOD_LOCAL_VERSION": toolchain.local_version,
        "HOROVOD_WITH_PYTORCH": "1",
        "HOROVOD_WITH_GLOO": "1",
        "HOROVOD_WITHOUT_MPI": "1",
        "HOROVOD_WITHOUT_TENSORFLOW": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        "CXXFLAGS": " ".join((os.environ.get("CXXFLAGS", ""), *(f"-include {name}" for name in INCLUDED))),
        "MAKEFLAGS": f"-j{len(os.sched_getaffinity(0))}",
        **(_gpu_environment(work, toolchain.nccl) if toolchain.nccl else {}),
    }


def _gpu_environment(work: Path, nccl: Nccl) -> dict[str, str]:
    """Point the build at NCCL; torch's wheel has no `libnccl.so`, only `libnccl.so.2`, so it needs a link."""
    links = work / "nccl"
    links.mkdir()
    (links / "libnccl.so").symlink_to(nccl.library)
    return {
        "HOROVOD_GPU_OPERATIONS": "NCCL",
        "HOROVOD_CUDA_HOME": str(nccl.cuda_home),
        "CUDA_HOME": str(nccl.cuda_home),
        "HOROVOD_NCCL_INCLUDE": str(nccl.include),
        "HOROVOD_NCCL_LIB": str(links),
        "HOROVOD_NCCL_LINK": "SHARED",
    }


def _run(
    what: str, command: list[str], folder: Path, log: Path, environment: dict[str, str] | None = None
) -> None:
    """Run `command` with its output in `log`, and print progress every few seconds."""
    started = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            try:
                process.wait(SPOKEN_EVERY_S)
            except subprocess.TimeoutExpired:
                print(f"{what}: {time.monotonic() - started:.0f} s …", flush=True)
    if process.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
        raise SetupFailed(f"{what} failed (exit {process.returncode}):\n{tail}\nThe whole log: {log}")
