"""Gangs over two machines connect by a network of their own, and nobody else takes part in it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import GangMember
from tests.support.network_namespaces import (
    inside,
    link,
    namespace,
    need_networks,
    python_in,
    run,
    server_in,
)
from tests.support.run_networks import GANG_PORT, SERVER, begin, config, reach
from worker.core.gang.private_network import gang_address, gang_mac, gang_vni
from worker.sandbox.network.commands import NetworkFailed
from worker.sandbox.network.gangs import Membership
from worker.sandbox.network.opening import open_networks
from worker.sandbox.network.run_networks import RunNetworks

ADDRESSES = {"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3", "a2": "192.0.2.1"}
FORGE = """
import socket, struct, sys
vni, mac, source, target, machine, port = int(sys.argv[1]), *sys.argv[2:6], int(sys.argv[6])
def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
text = b"forged"
udp = struct.pack("!HHHH", 5000, 7001, 8 + len(text), 0) + text
head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
frame = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000099") + b"\\x08\\x00" + head + udp
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", port))
one.sendto(struct.pack("!II", 0x08000000, vni << 8) + frame, (machine, 8473))
print("sent")
"""
LISTENER = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 7001)); one.settimeout(1.5)
print("open", flush=True)
try:
    print("got", one.recvfrom(100)[0].decode(), flush=True)
except OSError:
    print("nothing", flush=True)
"""


class Cluster:
    """Three machines on one switch; `a2` is a second worker on the machine of `a`."""

    def __init__(self, machines: dict[str, str], networks: dict[str, RunNetworks]) -> None:
        self.machines = machines
        self.networks = networks

    def gang(
        self, *names: str, run: RunId | None = None, generation: int = 1
    ) -> tuple[RunId, dict[str, str]]:
        """Begin a run on these workers, or change its members; return the files of their networks."""
        members = tuple(
            GangMember(worker=name, slots=1, address=ADDRESSES[name], private_network=True) for name in names
        )
        paths = {}
        for name in names:
            with inside(self.machines[name]):
                run, paths[name] = begin(self.networks[name], run)
                self.networks[name].join_gang(Membership(run, WorkerId(name), generation, members))
        assert run is not None
        return run, paths

    def leave_former(self, run: RunId, *names: str, generation: int) -> None:
        """End the earlier generations of a run on these workers."""
        for name in names:
            with inside(self.machines[name]):
                self.networks[name].leave_gangs(run, except_generation=generation)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    need_networks()
    prefix = f"mg{os.getpid()}"
    with ExitStack() as stack:
        stack.enter_context(namespace(f"{prefix}-switch"))
        run("ip", "-n", f"{prefix}-switch", "link", "add", "switch", "type", "bridge")
        run("ip", "-n", f"{prefix}-switch", "link", "set", "switch", "up")
        machines, networks = {}, {}
        for name in ("a", "b", "c"):
            machine = f"{prefix}-{name}"
            machines[name] = stack.enter_context(namespace(machine))
            link(machine, f"{prefix}-switch", "up0", f"port{name}")
            run("ip", "-n", f"{prefix}-switch", "link", "set", f"port{name}", "master", "switch")
            run("ip", "-n", machine, "address", "add", f"{ADDRESSES[name]}/24", "dev", "up0")
        machines["a2"] = machines["a"]
        for name, machine in machines.items():
            with inside(machine):
                networks[name] = open_networks(config(tmp_path_factory.mktemp(name)))
        yield Cluster(machines, networks)
        for name, one in networks.items():
            with inside(machines[name]):
                one.close()


def forge(attacker: str, gang: RunId, port: int, generation: int = 1) -> None:
    """Send a packet to the first member of a gang, worker `a`, from a network, in the name of the second."""
    vni, mac = gang_vni(gang, generation, WorkerId("a")), gang_mac(gang, generation, WorkerId("a"))
    source, target = gang_address(generation, 1), gang_address(generation, 0)
    python_in(attacker, FORGE, str(vni), mac, source, target, ADDRESSES["a"], str(port))


def received(cluster: Cluster, path: str, attacker: str, gang: RunId, port: int, generation: int = 1) -> str:
    with server_in(path, LISTENER) as server:
        forge(cluster.machines[attacker], gang, port, generation)
        assert server.stdout is not None
        return server.stdout.readline().strip()


def test_members_on_two_machines_reach_each_other(cluster: Cluster) -> None:
    _, paths = cluster.gang("a", "b")
    with server_in(paths["a"], SERVER, f"{gang_address(1, 0)}:7001"):
        assert reach(paths["b"], gang_address(1, 0), 7001) == f"answer {gang_address(1, 1)}"
    with server_in(paths["b"], SERVER, f"{gang_address(1, 1)}:7001"):
        assert reach(paths["a"], gang_address(1, 1), 7001, "udp") == f"answer {gang_address(1, 0)}"


def test_two_workers_of_one_machine_reach_each_other(cluster: Cluster) -> None:
    _, paths = cluster.gang("a", "a2", "b")
    addresses = {name: gang_address(1, index) for index, name in enumerate(("a", "a2", "b"))}
    for server, client in (("a", "a2"), ("a2", "a"), ("a2", "b"), ("b", "a2")):
        with server_in(paths[server], SERVER, f"{addresses[server]}:7001"):
            assert reach(paths[client], addresses[server], 7001) == f"answer {addresses[client]}"


def test_workers_of_one_machine_without_a_network_reach_each_other(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "a2"):
        monkeypatch.setitem(ADDRESSES, name, "127.0.0.1")
    _, paths = cluster.gang("a", "a2")
    with server_in(paths["a"], SERVER, f"{gang_address(1, 0)}:7001"):
        assert reach(paths["a2"], gang_address(1, 0), 7001) == f"answer {gang_address(1, 1)}"


def test_large_transfers_fit_the_network(cluster: Cluster) -> None:
    _, paths = cluster.gang("a", "b")
    sink = "import socket, sys\none = socket.create_server((sys.argv[1], 7001)); print('open', flush=True)\npeer = one.accept()[0]; size = 0\nwhile piece := peer.recv(1 << 16): size += len(piece)\nprint(size, flush=True)"
    source = "import socket, sys\none = socket.create_connection((sys.argv[1], 7001), 5); one.sendall(bytes(20_000_000)); one.close()"
    with server_in(paths["a"], sink, gang_address(1, 0)) as server:
        python_in(paths["b"], source, gang_address(1, 0))
        assert server.stdout is not None
        assert server.stdout.readline().strip() == "20000000"


def test_gangs_do_not_reach_each_other(cluster: Cluster) -> None:
    print("tried: reach a member of another gang by its address; stopped by separate VXLAN networks")
    _, mine = cluster.gang("a", "b")
    _, other = cluster.gang("b", "a")
    with server_in(other["b"], SERVER, f"{gang_address(1, 0)}:7001"):
        assert reach(other["a"], gang_address(1, 0), 7001).startswith("answer")
        assert reach(mine["b"], gang_address(1, 0), 7001).startswith("nothing")


def test_packets_of_machines_outside_the_gang_are_dropped(cluster: Cluster) -> None:
    print("tried: forged VXLAN packets from a machine of the pool; stopped by nftables")
    gang, paths = cluster.gang("a", "b")
    assert received(cluster, paths["a"], "b", gang, 700) == "got forged", "the packet is well formed"
    assert received(cluster, paths["a"], "c", gang, 700) == "nothing"


def test_packets_of_a_members_users_are_dropped(cluster: Cluster) -> None:
    print(
        "tried: forged VXLAN packets by a user of a member's machine, from a port that users can bind; stopped by nftables"
    )
    gang, paths = cluster.gang("a", "b")
    assert received(cluster, paths["a"], "b", gang, 40_000) == "nothing"
    assert received(cluster, paths["a"], "a", gang, 700) == "nothing"


def test_a_run_cannot_send_into_another_gang(cluster: Cluster) -> None:
    print("tried: forged VXLAN packets from a run on a member's machine; stopped by nftables")
    gang, paths = cluster.gang("a", "b")
    with inside(cluster.machines["b"]):
        _, attacker = begin(cluster.networks["b"])
    for attempt in (attacker, paths["b"]):
        with server_in(paths["a"], LISTENER) as server:
            forge(attempt, gang, 700)
            assert server.stdout is not None
            assert server.stdout.readline().strip() == "nothing"


def test_a_gang_gets_other_members_while_it_trains(cluster: Cluster) -> None:
    gang, paths = cluster.gang("a", "b")
    _, joined = cluster.gang("b", "c", "a", run=gang, generation=2)
    former, coming = gang_address(1, 0), gang_address(2, 0)
    with server_in(paths["a"], SERVER, f"{former}:7001"):
        assert reach(paths["b"], former, 7001) == f"answer {gang_address(1, 1)}", "the former gang trains on"
    with server_in(paths["b"], SERVER, f"{coming}:7002"):
        assert reach(joined["c"], coming, 7002) == f"answer {gang_address(2, 1)}"
        assert reach(paths["a"], coming, 7002) == f"answer {gang_address(2, 2)}"


def test_a_former_member_is_disconnected(cluster: Cluster) -> None:
    print("tried: reach the gang, and forged packets, from a machine that has left it; stopped by nftables")
    gang, paths = cluster.gang("a", "b", "c")
    with server_in(paths["a"], SERVER, f"{gang_address(1, 0)}:7002"):
        assert reach(paths["c"], gang_address(1, 0), 7002).startswith("answer")
    cluster.gang("a", "b", run=gang, generation=2)
    cluster.leave_former(gang, "a", "b", generation=2)
    with server_in(paths["a"], SERVER, "0.0.0.0:7002"):
        for generation in (1, 2):
            assert reach(paths["c"], gang_address(generation, 0), 7002).startswith("nothing")
        assert reach(paths["b"], gang_address(2, 0), 7002).startswith("answer")
    for generation in (1, 2):
        assert received(cluster, paths["a"], "c", gang, 700, generation) == "nothing"
    assert received(cluster, paths["a"], "b", gang, 700, 2) == "got forged"


def test_a_gang_of_one_machine_uses_the_loopback(cluster: Cluster) -> None:
    _, paths = cluster.gang("a")
    assert "gang" not in run("ip", "-n", Path(paths["a"]).name, "-br", "link")


def test_an_identifier_in_use_ends_the_start(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.sandbox.network.gangs.gang_vni", lambda run, generation, worker: 77)
    cluster.gang("a", "b")
    with pytest.raises(NetworkFailed, match="another run on this machine has the VXLAN identifier 77"):
        cluster.gang("a", "b")


def test_an_address_that_the_machine_does_not_have_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ADDRESSES, "a", "192.0.2.77")
    with pytest.raises(NetworkFailed, match=r"192\.0\.2\.77, this worker's address for gangs"):
        cluster.gang("a", "b")


def test_the_gang_port_is_the_only_one_that_listens(cluster: Cluster) -> None:
    cluster.gang("a", "b")
    with inside(cluster.machines["a"]):
        sockets = run("ss", "-Hunl").splitlines()
    assert [one.split()[3].rpartition(":")[2] for one in sockets] == [str(GANG_PORT)]
