import subprocess
import threading
import time
from pathlib import Path

import pytest

from deploy.horovod import toolchain, wheel
from deploy.horovod.toolchain import Nccl, SetupFailed, Toolchain

CPU = Toolchain("2.13.0+cpu", None)
GPU = Toolchain(
    "2.13.0+cu130", Nccl(Path("/cuda"), "13.0", Path("/nccl/include"), Path("/nccl/lib/libnccl.so.2"))
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "muster" / "wheels"


def test_wheels_of_different_toolchains_lie_apart() -> None:
    assert CPU.key != GPU.key
    assert "gloo" in CPU.key
    assert "nccl13.0".replace(".", "") in GPU.key.replace(".", "")
    assert CPU.key != Toolchain("2.14.0+cpu", None).key


def test_setups_at_the_same_time_build_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def build(folder: Path, _: Toolchain) -> Path:
        built.append(folder)
        time.sleep(0.1)
        folder.mkdir()
        (folder / "horovod-0.28.1.whl").touch()
        return folder / "horovod-0.28.1.whl"

    monkeypatch.setattr(wheel, "_built", build)
    found: list[Path] = []
    setups = [threading.Thread(target=lambda: found.append(wheel.cached_wheel(CPU))) for _ in range(3)]
    for setup in setups:
        setup.start()
    for setup in setups:
        setup.join()
    assert built == [cache / CPU.key]
    assert found == [cache / CPU.key / "horovod-0.28.1.whl"] * 3


def test_a_missing_compiler_is_named_with_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupFailed, match=r"`g\+\+` was not found; install it \(`apt install g\+\+ make`\)"):
        wheel.cached_wheel(CPU)
    assert not (cache / CPU.key).exists()


def test_a_failed_step_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match=r"building failed \(exit 3\):\nno space left") as failed:
        wheel._run("building", ["sh", "-c", "echo no space left; exit 3"], tmp_path, tmp_path / "x.log")
    assert str(tmp_path / "x.log") in str(failed.value)


def test_a_source_that_cannot_be_patched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match=r"CMakeLists\.txt of Horovod 0\.28\.1 has no"):
        wheel._patch(_source_without_standards(tmp_path), CPU)


def test_sources_may_leave_out_the_headers_that_older_compilers_brought_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    flags = wheel._environment(tmp_path, CPU)["CXXFLAGS"].split()
    source = 'std::string kept; uint8_t one; void end() { throw std::logic_error("end"); }'
    compiler = ["g++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-"]
    bare = subprocess.run(compiler, input=source, text=True, capture_output=True, check=False)
    assert bare.returncode != 0
    subprocess.run([*compiler, *flags], input=source, text=True, check=True)
    assert flags[0] == "-O0"


def test_nccl_is_taken_from_torch_s_own_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia/nccl/include").mkdir(parents=True)
    (tmp_path / "nvidia/nccl/lib").mkdir()
    (tmp_path / "nvidia/nccl/include/nccl.h").touch()
    (tmp_path / "nvidia/nccl/lib/libnccl.so.2").touch()
    nvcc = tmp_path / "cuda/bin/nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nvcc.parent}:/usr/bin:/bin")
    nccl = toolchain._find_nccl(tmp_path)
    assert nccl is not None
    assert nccl.cuda_version == "13.0"
    assert nccl.cuda_home == tmp_path / "cuda"
    assert nccl.library.name == "libnccl.so.2"


def _source_without_standards(folder: Path) -> Path:
    for name, _, _ in wheel.PATCHES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("project(horovod)\n")
    return folder
