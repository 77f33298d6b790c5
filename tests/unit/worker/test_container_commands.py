"""The commands that start a run's container."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from muster.runtime.sandbox import seccomp
from shared.container_rules import ContainerSettings
from shared.ids import WorkerId
from shared.messages.trial_specs import ContainerDevice, ContainerSpec, GangMember, TrialSpec
from tests.unit.worker.test_records import ALLOCATED
from worker.core.gang.assignment import Gang, RankAssignment
from worker.core.run.records import LocalRun
from worker.executors import seccomp_profile
from worker.executors.container import Engine
from worker.machine.cgroups import Bounds, Cgroups
from worker.machine.host import Machine
from worker.paths import WorkerPaths
from worker.runs.containers import Containers
from worker.sandbox.accounts import Account
from worker.store.records import StoredImage, StoredRun

IMAGE = StoredImage("abc", "ghcr.io/x@sha256:1", {"PYTHONPATH": "/site", "PATH": "/bin"})


def machine(root: Path, kind: Any) -> Machine:
    return Machine(
        worker=WorkerId("w1"),
        disk=root,
        address="127.0.0.1",
        socket=root / "ranks.sock",
        path="/worker/bin",
        kind=kind,
        account=Account(1234, 1235),
        run_bytes=7_000,
        cgroups=Cgroups(WorkerId("w1"), Bounds()),
        niceness=0,
    )


def command(
    root: Path,
    kind: str = "cuda",
    engine: str = "podman",
    slot_ids: tuple[int, ...] = (2, 5),
    **container: Any,
) -> list[str]:
    spec = TrialSpec(
        experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss",
        container=ContainerSpec(images={"cuda": "ghcr.io/x"}, **container),
    )  # fmt: skip
    members = (GangMember(worker=WorkerId("w1"), slots=2, slot_ids=slot_ids),)
    allocation = ALLOCATED.model_copy(update={"spec": spec, "members": members})
    gang = Gang(1, RankAssignment(0, 1, 0, 2, 2))
    run = LocalRun(allocation.allocation_id, allocation.run_id, 7, gang)
    paths = WorkerPaths(root)
    made = Containers(
        Engine((engine,), {}, root / "seccomp.json"), ContainerSettings(), Bounds(1000, 50), paths
    )
    here = machine(root, kind)
    sandbox = made.container(StoredRun(run, allocation, "t", image=IMAGE), IMAGE, paths.run(run.run_id), here)
    return list(sandbox.start_command(["-m", "muster.runtime"]).argv)


def values(argv: list[str], option: str) -> list[str]:
    return [argv[index + 1] for index, word in enumerate(argv) if word == option]


def test_a_container_gets_its_gpus_by_cdi_and_the_devices_that_were_allowed(tmp_path: Path) -> None:
    fuse = ContainerDevice(host_path="/dev/fuse", container_path="/dev/fuse", mode="rw")
    found = values(command(tmp_path, devices=(fuse,)), "--device")
    assert found == ["nvidia.com/gpu=2", "nvidia.com/gpu=5", "/dev/fuse:/dev/fuse:rw"]
    assert values(command(tmp_path, "rocm"), "--device") == ["amd.com/gpu=2", "amd.com/gpu=5"]
    assert values(command(tmp_path, "cpu"), "--device") == []


def test_inside_its_gpus_are_numbered_from_0_and_paths_are_the_images(tmp_path: Path) -> None:
    made = Containers(None, ContainerSettings(), Bounds(), WorkerPaths(tmp_path))
    inside = made.machine(machine(tmp_path, "cuda"), IMAGE)
    assert (inside.is_container, inside.path) == (True, "/bin")
    assert inside.libraries["PYTHONPATH"] == "/opt/muster:/site"


def test_rights_and_limits_are_always_set(tmp_path: Path) -> None:
    argv = command(
        tmp_path, add_capabilities=("SYS_PTRACE", "NET_RAW"), drop_capabilities=("NET_RAW",), shm_bytes=64
    )
    assert values(argv, "--user") == ["1234:1235"]
    assert values(argv, "--cap-drop") == ["ALL"] and values(argv, "--cap-add") == ["SYS_PTRACE"]
    options = values(argv, "--security-opt")
    assert options == ["no-new-privileges", f"seccomp={tmp_path}/seccomp.json", "mask=/sys/fs/cgroup"]
    assert "--read-only" in argv
    assert (values(argv, "--memory"), values(argv, "--memory-swap")) == (["2000"], ["2000"])
    assert values(argv, "--pids-limit") == ["100"]
    assert values(argv, "--shm-size") == ["64b"] and "fsize=7000:7000" in values(argv, "--ulimit")
    assert values(argv, "--pull") == ["never"] and "abc" in argv, "by its id, whatever its name means now"
    assert not {"--privileged", "--pid", "--ipc"} & set(argv)


def test_nothing_of_the_worker_is_mounted_but_the_runs_folders_and_the_ranks_socket(tmp_path: Path) -> None:
    mounts = values(command(tmp_path), "--mount")
    run = f"{tmp_path}/runs/{ALLOCATED.run_id}"
    sources = {
        part.removeprefix("source=")
        for mount in mounts
        for part in mount.split(",")
        if part.startswith("source=")
    }
    below = (
        "code",
        "home",
        "checkpoints",
        "logs",
        "watch",
        "spool",
        "tensorboard",
        "parent",
        "launches",
        "latest",
        "link",
        "tmp",
        "unsent.frames",
        "trial.json",
    )
    own = {source for source in sources if source.startswith(str(tmp_path))}
    assert own == {f"{run}/{name}" for name in below}
    assert {Path(source).name for source in sources - own} == {"muster"}


def test_docker_gets_no_option_of_podman_alone(tmp_path: Path) -> None:
    argv = command(tmp_path, engine="docker")
    assert "docker rm --force" in argv[2]
    assert not {"--replace", "--userns", "--time"} & set(argv)


def test_a_container_is_replaced_by_name_and_names_differ_between_workers(tmp_path: Path) -> None:
    one, other = (values(command(tmp_path / name), "--name") for name in ("a", "b"))
    assert one != other and str(ALLOCATED.run_id) in one[0]


def test_containers_and_other_sandboxes_refuse_the_same_calls() -> None:
    assert set(seccomp_profile.DENIED) == set(seccomp._DENIED)
    assert set(seccomp_profile.ABSENT) == set(seccomp._ABSENT)
    assert sum(seccomp_profile._NEW_NAMESPACES) == seccomp._NEW_NAMESPACES


@pytest.mark.parametrize(
    ("engine", "option"), [("podman", "--userns=keep-id"), ("docker", "--user=1234:1235")]
)
def test_a_container_of_a_worker_without_root_has_the_worker_s_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, option: str
) -> None:
    """Podman maps other ids to ids that cannot read the run's folders; Docker has no such option."""
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    words = command(tmp_path, engine=engine)
    options = {f"{name}={value}" for name, value in pairwise(words)}
    assert option in options
    assert len({"--userns=keep-id", "--user=1234:1235"} & options) == 1
