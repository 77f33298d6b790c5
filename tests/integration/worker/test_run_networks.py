"""The life of private networks: taken without delay, found again after a crash, removed at the end, several workers beside each other."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.errors import Rejected
from shared.clock import SystemClock
from shared.ids import RunId, new_id
from tests.support.network_namespaces import inside, namespace, need_networks, run, server_in
from tests.support.run_networks import SERVER, begin, config, reach
from worker.sandbox.network.commands import NetworkFailed
from worker.sandbox.network.opening import find_networks, open_networks
from worker.sandbox.network.run_networks import RunNetworks
from worker.settings import WorkerSection

Open = Callable[..., RunNetworks]


@pytest.fixture
def machine() -> Iterator[str]:
    """A machine without any network but its loopback; the test is on it."""
    need_networks()
    with namespace(f"ml{os.getpid()}") as path, inside(path):
        yield path


@pytest.fixture
def open_in(machine: str) -> Iterator[Callable[..., RunNetworks]]:
    """Open the networks of a worker in a directory; all are closed after the test."""
    opened: list[RunNetworks] = []

    def open_one(directory: Path, spare: int = 2) -> RunNetworks:
        directory.mkdir(exist_ok=True)
        opened.append(open_networks(config(directory, spare=spare)))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def test_a_network_is_taken_within_5_ms(open_in: Open, tmp_path: Path) -> None:
    networks = open_in(tmp_path)
    times = []
    for _ in range(5):
        networks.work_once()
        began = time.perf_counter()
        with pytest.raises(StopIteration):
            networks.take(RunId(new_id(SystemClock()))).send(None)
        times.append(time.perf_counter() - began)
    print("taken in", [f"{one * 1000:.2f} ms" for one in times])
    assert min(times) < 0.005


def test_nothing_is_left_when_the_worker_ends(open_in: Open, tmp_path: Path) -> None:
    networks = open_in(tmp_path)
    _, path = begin(networks)
    with server_in(path, SERVER, "0.0.0.0:7001"):
        networks.close()
    assert not Path(path).exists()
    assert "muster" not in run("ip", "link")
    assert run("nft", "list", "ruleset") == ""
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == "0\n"
    assert not list((tmp_path / "networks").iterdir())


def test_the_next_daemon_finds_the_networks_of_living_runs(open_in: Open, tmp_path: Path) -> None:
    killed = open_in(tmp_path)
    living, path = begin(killed)
    ended, other = begin(killed)
    spare = {*Path("/run/netns").glob(f"{killed.boundary.table}-*")} - {Path(path), Path(other)}

    networks = open_in(tmp_path)
    assert networks.path(living) == path
    assert networks.path(ended) == other
    networks.sweep([living])
    for _ in range(5):
        networks.work_once()
    assert Path(path).exists()
    assert not Path(other).exists()
    assert not any(one.exists() for one in spare), "an unused one of the killed daemon is not handed out"
    with server_in(path, SERVER, "0.0.0.0:7001"):
        address = run("nsenter", f"--net={path}", "ip", "-br", "address", "show", "net0").split()[2]
        assert reach("/proc/self/ns/net", address.partition("/")[0], 7001).startswith("answer")
    assert begin(networks, living)[1] == path, "a run that has a network keeps it"


def test_a_released_network_is_removed_and_never_handed_out_again(open_in: Open, tmp_path: Path) -> None:
    networks = open_in(tmp_path)
    first, path = begin(networks)
    networks.release(first)
    paths = {begin(networks)[1] for _ in range(4)}
    for _ in range(4):
        networks.work_once()
    assert path not in paths
    assert not Path(path).exists()


def test_two_workers_do_not_disturb_each_other(open_in: Open, machine: str, tmp_path: Path) -> None:
    workers = [tmp_path / "one", tmp_path / "two"]
    first, second = (open_in(directory) for directory in workers)
    _, path = begin(first)
    _, other = begin(second)
    address = run("nsenter", f"--net={other}", "ip", "-br", "address", "show", "net0").split()[2]
    with server_in(other, SERVER, "0.0.0.0:7001"):
        target = address.partition("/")[0]
        assert reach(path, target, 7001).startswith("nothing"), "a run of another worker is another run"
        first.close()
        assert reach(machine, target, 7001).startswith("answer")
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == "1\n"
    second.close()
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == "0\n"


def test_other_links_of_the_machine_are_left_alone(open_in: Open, tmp_path: Path) -> None:
    networks = open_in(tmp_path)
    _, path = begin(networks)
    taken = int(path.rpartition("-")[2]) + 2
    run("ip", "link", "add", f"muster{taken}", "type", "bridge")
    for _ in range(2):
        begin(networks)
    networks.close()
    assert f"muster{taken}" in run("ip", "link")


async def test_a_run_is_told_why_it_gets_no_network(open_in: Open, tmp_path: Path) -> None:
    networks = open_in(tmp_path, spare=0)
    networks._ready.clear()
    networks.failure = "no memory"
    networks._done.set()
    waiting = asyncio.ensure_future(networks.take(RunId(new_id(SystemClock()))))
    await asyncio.sleep(0)
    networks._done.set()
    with pytest.raises(NetworkFailed, match="no memory"):
        await waiting


def test_a_machine_that_lacks_a_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "nft" else f"/sbin/{name}")
    with pytest.raises(NetworkFailed, match="this machine lacks nftables"):
        open_networks(config(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(NetworkFailed, match="only root can make networks"):
        open_networks(config(tmp_path))


def test_why_runs_use_the_machines_network_is_known(tmp_path: Path) -> None:
    def own(network: str) -> WorkerSection:
        return WorkerSection(id="w", directory=tmp_path, network=network)

    assert find_networks(own("host"), has_sandboxes=True) == "MUSTER_WORKER__NETWORK is host"
    assert find_networks(own("auto"), has_sandboxes=False) == "runs have no sandboxes"
    with pytest.raises(Rejected, match="cannot have networks of their own: runs have no sandboxes"):
        find_networks(own("private"), has_sandboxes=False)
