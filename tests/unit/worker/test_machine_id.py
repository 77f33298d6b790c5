"""The id of a host, and the isolation that a worker reports."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from muster.errors import Rejected
from worker.machine.isolation import describe_network, offered_isolation, save_isolation
from worker.machine.machine_id import machine_id
from worker.settings import WorkerSection

BOOT_ID = "2f6d3f1e-3b0a-4c5e-9d6f-0a1b2c3d4e5f"


def settings(name: str = "w", **more: object) -> WorkerSection:
    return WorkerSection(id=name, directory=Path("/nowhere"), **more)


def test_all_workers_of_a_host_have_one_id(tmp_path: Path) -> None:
    (tmp_path / "boot_id").write_text(f"{BOOT_ID}\n")
    found = {machine_id(settings(name), tmp_path / "boot_id") for name in ("a", "b")}
    assert found == {"2f6d3f1e3b0a4c5e"}


def test_a_configured_id_replaces_it() -> None:
    assert machine_id(settings(machine="rack-7.host_3")) == "rack-7.host_3"
    with pytest.raises(ValidationError):
        settings(machine="a b")


def test_without_a_boot_id_the_host_name_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node 7.example")
    assert machine_id(settings(), tmp_path / "missing") == "node-7.example"


def test_a_worker_without_sandboxes_says_so(tmp_path: Path) -> None:
    shared = settings(sandbox="none", user="nobody")
    assert offered_isolation(settings(sandbox="none")).kind == "none"
    offered = offered_isolation(shared)
    assert offered.kind == "user"
    save_isolation(tmp_path / "isolation.json", shared, offered)
    written = json.loads((tmp_path / "isolation.json").read_text())
    assert written == {"pool": "default", "kind": "user", "detail": offered.detail}
    save_isolation(tmp_path / "missing" / "isolation.json", settings(), offered)


def test_a_worker_without_root_says_what_its_sandboxes_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    _refuse(monkeypatch, None)
    offered = offered_isolation(settings(), describe_network("only root can make networks of runs"))
    assert offered.kind == "sandbox"
    assert offered.detail == (
        "each run has its own namespaces, all have the worker's user; "
        "no network boundary: runs use the machine's network, because only root can make networks of runs"
    )


def test_a_worker_without_root_and_sandboxes_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    _refuse(monkeypatch, Rejected("sandbox_refused", "the kernel refuses", hint="sysctl " + "x" * 300))
    offered = offered_isolation(settings())
    assert offered.kind == "none" and "the kernel refuses" in offered.detail
    assert len(offered.detail) <= 200, "the heartbeat allows no more"


@pytest.mark.parametrize(("user", "shared"), [(0, False), (1000, True)])
def test_a_worker_that_runs_containers_only_isolates_runs(
    monkeypatch: pytest.MonkeyPatch, user: int, shared: bool
) -> None:
    """Also where the kernel refuses sandboxes: runs without an image are refused."""
    monkeypatch.setattr("os.geteuid", lambda: user)
    _refuse(monkeypatch, Rejected("sandbox_refused", "the kernel refuses"))
    offered = offered_isolation(settings(sandbox="container"))
    assert offered.kind == "sandbox" and "runs without an image are refused" in offered.detail
    assert ("the worker's user" in offered.detail) == shared and len(offered.detail) <= 200


def _refuse(monkeypatch: pytest.MonkeyPatch, refusal: Rejected | None) -> None:
    monkeypatch.setattr("worker.sandbox.sandboxing.refusal_of_sandboxes", lambda _: refusal)
