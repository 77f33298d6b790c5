"""Attacks from the network of a run: metadata service, the machine, other runs, false sources, other gangs. The attacker is root in its network."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.ids import RunId
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
from worker.core.destinations import read_allowed
from worker.sandbox.network.opening import open_networks
from worker.sandbox.network.run_networks import RunNetworks

MACHINE, ROUTER, METADATA = "192.0.2.10", "192.0.2.1", "169.254.169.254"
PUBLIC, STORAGE, OTHER, RESOLVER = "203.0.113.10", "10.9.0.5", "10.9.0.6", "10.9.0.53"
OUTSIDE = (METADATA, "100.100.100.200", "168.63.129.16", PUBLIC, STORAGE, OTHER, RESOLVER)
ALLOWED = f"public,{STORAGE}/32:443,169.254.0.0/16,192.0.2.0/24"


@dataclass(frozen=True)
class Site:
    """A machine, with a worker's networks, and what lies outside it. All are files of namespaces."""

    machine: str
    outside: str
    networks: RunNetworks

    def begin(self) -> tuple[RunId, str]:
        """Give a new run a network."""
        with inside(self.machine):
            return begin(self.networks)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    need_networks()
    prefix = f"mt{os.getpid()}"
    machine, outside = f"{prefix}-machine", f"{prefix}-outside"
    with ExitStack() as stack:
        machine_file, outside_file = (
            stack.enter_context(namespace(machine)),
            stack.enter_context(namespace(outside)),
        )
        link(machine, outside, "up0", "down0")
        run("ip", "-n", machine, "address", "add", f"{MACHINE}/24", "dev", "up0")
        run("ip", "-n", machine, "address", "add", "2001:db8::10/64", "dev", "up0", "nodad")
        run("ip", "-n", machine, "route", "add", "default", "via", ROUTER)
        run("ip", "-n", outside, "address", "add", f"{ROUTER}/24", "dev", "down0")
        run("ip", "-n", outside, "route", "add", "100.127.0.0/16", "via", MACHINE)
        for address in OUTSIDE:
            run("ip", "-n", outside, "address", "add", f"{address}/32", "dev", "lo")
        with inside(machine_file):
            networks = open_networks(
                config(tmp_path_factory.mktemp("worker"), allowed=read_allowed(ALLOWED), resolvers=RESOLVER)
            )
        stack.enter_context(
            server_in(outside_file, SERVER, *(f"{one}:{port}" for one in OUTSIDE for port in (53, 80, 443)))
        )
        stack.enter_context(
            server_in(machine_file, SERVER, "0.0.0.0:7001", f"{MACHINE}:7003", "127.0.0.1:7000", "::1:7002")
        )
        yield Site(machine_file, outside_file, networks)
        with inside(machine_file):
            networks.close()


DENIED = {
    "the metadata service": (METADATA, 80, "tcp"),
    "the metadata service by UDP": (METADATA, 80, "udp"),
    "the metadata service of Alibaba Cloud": ("100.100.100.200", 80, "tcp"),
    "the host agent of Azure": ("168.63.129.16", 80, "tcp"),
    "a service of the machine": (MACHINE, 7003, "tcp"),
    "a service of the machine by UDP": (MACHINE, 7003, "udp"),
    "a private address that is not allowed": (OTHER, 443, "tcp"),
    "another port of an allowed address": (STORAGE, 80, "tcp"),
    "another port of the resolver": (RESOLVER, 80, "tcp"),
    "the gang port of another machine": (ROUTER, GANG_PORT, "udp"),
}


@pytest.mark.parametrize("what", DENIED)
def test_a_run_does_not_reach(site: Site, what: str) -> None:
    print(f"tried: reach {what}; stopped by nftables")
    host, port, protocol = DENIED[what]
    _, path = site.begin()
    with server_in(site.outside, SERVER, f"{ROUTER}:{GANG_PORT}"):
        assert reach(site.machine, host, port, protocol).startswith("answer"), "the server is there"
        assert reach(path, host, port, protocol).startswith("nothing")


@contextmanager
def unfiltered(site: Site) -> Iterator[None]:
    """Remove all rules: what an attack reaches now, the rules have stopped."""
    with inside(site.machine):
        rules = run("nft", "list", "ruleset")
        run("nft", "flush", "ruleset")
    try:
        yield
    finally:
        with inside(site.machine):
            subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)


def test_without_the_rules_the_same_attacks_succeed(site: Site) -> None:
    _, path = site.begin()
    with server_in(site.outside, SERVER, f"{ROUTER}:{GANG_PORT}"), unfiltered(site):
        reached = [what for what, where in DENIED.items() if reach(path, *where).startswith("answer")]
    assert reached == list(DENIED)


def test_a_run_does_not_reach_the_machines_own_end_of_its_link(site: Site) -> None:
    print("tried: reach a service on all addresses by the gateway's; stopped by nftables")
    _, path = site.begin()
    gateway = run("nsenter", f"--net={path}", "ip", "route").split("via ")[1].split()[0]
    assert reach(site.machine, gateway, 7001).startswith("answer")
    assert reach(path, gateway, 7001).startswith("nothing")


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 7000), ("::1", 7002)])
def test_the_loopback_of_a_run_is_its_own(site: Site, host: str, port: int) -> None:
    print("tried: reach a service on the machine's loopback; stopped by the namespace")
    _, path = site.begin()
    assert reach(site.machine, host, port).startswith("answer")
    assert reach(path, host, port).startswith("nothing")
    with server_in(path, SERVER, "127.0.0.1:7000"):
        assert reach(path, "127.0.0.1", 7000) == "answer 127.0.0.1"


def test_a_run_has_no_ipv6_beyond_its_loopback(site: Site) -> None:
    print("tried: reach the machine by IPv6, with an address taken by itself; stopped by nftables")
    _, path = site.begin()
    machine, own = Path(site.machine).name, Path(path).name
    name = f"muster{own.rpartition('-')[2]}"
    near, far = (
        run("ip", "-n", *one).split()[2]
        for one in ((machine, "-br", "link", "show", name), (own, "-br", "link", "show", "net0"))
    )
    run("ip", "-n", machine, "route", "add", "2001:db8:1::/64", "dev", name)
    run("ip", "-n", machine, "neighbour", "add", "2001:db8:1::2", "lladdr", far, "dev", name)
    run("ip", "-n", own, "address", "add", "2001:db8:1::2/64", "dev", "net0", "nodad")
    run("ip", "-n", own, "-6", "route", "add", "default", "dev", "net0")
    run("ip", "-n", own, "neighbour", "add", "2001:db8::10", "lladdr", near, "dev", "net0")
    with server_in(site.machine, SERVER, "2001:db8::10:7003"):
        assert reach(path, "2001:db8::10", 7003).startswith("nothing")
        with unfiltered(site):
            assert reach(path, "2001:db8::10", 7003).startswith("answer")


def test_a_run_reaches_what_the_site_allows(site: Site) -> None:
    _, path = site.begin()
    assert reach(path, PUBLIC, 80) == f"answer {MACHINE}"
    assert reach(path, STORAGE, 443) == f"answer {MACHINE}"
    assert reach(path, RESOLVER, 53, "udp") == f"answer {MACHINE}"
    assert f"nameserver {RESOLVER}\n" in site.networks.resolv_conf


def test_a_run_does_not_reach_another_run(site: Site) -> None:
    print("tried: reach the server of another run, by its address; stopped by nftables")
    _, path = site.begin()
    _, other = site.begin()
    address = (
        run("nsenter", f"--net={other}", "ip", "-br", "address", "show", "net0").split()[2].partition("/")[0]
    )
    with server_in(other, SERVER, "0.0.0.0:7001"):
        assert reach(other, address, 7001).startswith("answer")
        assert reach(path, address, 7001).startswith("nothing")
        assert reach(site.machine, address, 7001).startswith("answer"), "the worker may reach its runs"


def test_nothing_outside_reaches_a_run(site: Site) -> None:
    print("tried: reach a run's server from a machine that routes to it; stopped by nftables")
    _, path = site.begin()
    address = (
        run("nsenter", f"--net={path}", "ip", "-br", "address", "show", "net0").split()[2].partition("/")[0]
    )
    with server_in(path, SERVER, "0.0.0.0:7001"):
        assert reach(site.outside, address, 7001).startswith("nothing")


@pytest.mark.parametrize("source", [MACHINE, ROUTER, "100.127.7.7"])
def test_a_false_source_address_leaves_nothing(site: Site, source: str) -> None:
    print("tried: send with the address of the machine, the router or another run; stopped by nftables")
    _, path = site.begin()
    listener = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 5353)); one.settimeout(1.5)
print("open", flush=True)
try:
    print("got", one.recvfrom(100), flush=True)
except OSError:
    print("nothing", flush=True)
"""
    with server_in(site.outside, listener) as server:
        reach(path, PUBLIC, 5353, "udp", source)
        assert server.stdout is not None
        assert server.stdout.readline().strip() == "nothing"
    with server_in(site.outside, listener) as server:
        reach(path, PUBLIC, 5353, "udp")
        assert server.stdout is not None
        assert server.stdout.readline().startswith("got")


def test_abstract_sockets_of_the_machine_are_not_visible(site: Site) -> None:
    print("tried: connect to an abstract unix socket of the machine; stopped by the namespace")
    _, path = site.begin()
    name = f"muster-test-{os.getpid()}"
    server = "import socket, sys\none = socket.socket(socket.AF_UNIX); one.bind('\\0' + sys.argv[1]); one.listen()\nprint('open', flush=True)\nwhile True: one.accept()"
    client = "import socket, sys\none = socket.socket(socket.AF_UNIX)\ntry: one.connect('\\0' + sys.argv[1]); print('connected')\nexcept OSError as error: print('nothing:', error)"
    with server_in(site.machine, server, name):
        assert python_in(site.machine, client, name) == "connected"
        assert python_in(path, client, name).startswith("nothing")


def test_one_run_cannot_fill_the_machines_table_of_connections(site: Site) -> None:
    print("tried: 6,000 connections by UDP; stopped by nftables' count")
    _, path = site.begin()
    flood = f"""
import socket
denied = 0
for port in range(10_000, 16_000):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect(("{PUBLIC}", port))
    try:
        one.send(b"x")
    except OSError:
        denied += 1
    one.close()
"""
    python_in(path, flood)
    with inside(site.machine):
        count = int(Path("/proc/sys/net/netfilter/nf_conntrack_count").read_text())
    assert 4000 < count < 4500
