"""Which interface joins a gang."""

import pytest

from worker.core.gang.network import Interface, joining_interface

LOOPBACK = Interface("lo", "127.0.0.1", "255.0.0.0")
FRONT = Interface("eth0", "192.168.7.5", "255.255.255.0")
BACK = Interface("eth1", "10.1.0.5", "255.255.0.0")
SIX = Interface("eth2", "fd00::5", "ffff:ffff::")
ALL = (LOOPBACK, FRONT, BACK, SIX)


@pytest.mark.parametrize(
    ("own", "peers", "interface"),
    [
        ("10.1.0.5", ("10.1.0.6",), "eth1"),
        ("192.168.7.5", ("10.1.0.6",), "eth0"),  # the others are told this address: there they come
        ("worker-5.example", ("10.1.200.6", "10.1.0.7"), "eth1"),
        ("203.0.113.9", ("10.1.0.6",), "eth1"),  # translated on the way
        ("203.0.113.9", ("203.0.113.10",), "eth0"),
        ("worker-5.example", ("worker-6.example",), "eth0"),
        ("fd00::5", ("fd00::6",), "eth2"),
        ("127.0.0.1", (), "lo"),
        ("127.0.0.1", ("127.0.0.1",), "lo"),
        ("worker-5.example", (), "lo"),
    ],
)
def test_the_interface_is_that_of_the_network_which_joins_them(
    own: str, peers: tuple[str, ...], interface: str
) -> None:
    assert joining_interface(own, peers, ALL) == interface


def test_a_machine_without_a_network_uses_the_loopback() -> None:
    assert joining_interface("10.0.0.1", ("10.0.0.2",), (LOOPBACK,)) == "lo"
