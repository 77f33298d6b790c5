"""Addresses of gangs, destinations and name servers of private networks."""

from pathlib import Path
from uuid import UUID

import pytest

from muster.errors import Rejected
from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import GangMember
from worker.core.destinations import read_allowed
from worker.core.gang.private_network import gang_address, gang_mac, gang_vni, private_members
from worker.sandbox.network.resolver import find_resolvers, resolv_conf
from worker.sandbox.network.rules import Boundary, base_rules

RUN = RunId(UUID(int=7))
MEMBERS = tuple(
    GangMember(worker=name, slots=1, address=f"10.0.0.{number}", private_network=True)
    for number, name in enumerate("abc")
)


def test_a_gang_on_one_machine_uses_the_loopback() -> None:
    assert [one.address for one in private_members(MEMBERS[:1], 3)] == ["127.0.0.1"]


def test_generations_and_members_have_addresses_of_their_own() -> None:
    addresses = {gang_address(generation, index) for generation in range(32) for index in range(64)}
    assert len(addresses) == 32 * 64
    assert [one.address for one in private_members(MEMBERS, 1)] == [
        "198.18.16.1",
        "198.18.16.2",
        "198.18.16.3",
    ]


def test_identifiers_differ_by_run_generation_and_member_and_fit_24_bits() -> None:
    places = [
        (RunId(UUID(int=run)), generation, WorkerId(name))
        for run in (1, 2)
        for generation in (1, 2)
        for name in "ab"
    ]
    assert len({gang_vni(*place) for place in places}) == len({gang_mac(*place) for place in places}) == 8
    assert all(0 < gang_vni(*place) < 1 << 24 for place in places)


def test_a_gang_of_private_and_other_networks_is_refused() -> None:
    mixed = (*MEMBERS, GangMember(worker="z", slots=1, address="10.0.0.9"))
    with pytest.raises(Rejected, match="those of z use the machine's"):
        private_members(mixed, 1)


def test_a_gang_with_more_members_than_addresses_is_refused() -> None:
    with pytest.raises(Rejected, match="at most 4094 machines"):
        gang_address(1, 4094)


def test_destinations_are_read() -> None:
    allowed = read_allowed("public, 10.1.0.0/16,10.2.0.7:443,10.2.0.8:8000-8100")
    assert allowed.is_public
    assert [(str(one.network), one.ports) for one in allowed.destinations] == [
        ("10.1.0.0/16", None),
        ("10.2.0.7/32", (443, 443)),
        ("10.2.0.8/32", (8000, 8100)),
    ]
    assert not read_allowed("10.0.0.0/8").is_public


@pytest.mark.parametrize(
    "text",
    ["everything", "10.0.0.0/33", "10.0.0.1:0", "10.0.0.1:9-1", "10.0.0.1:", "fd00::/8", "10.0.0.1:1;drop"],
)
def test_a_destination_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a network that runs can reach"):
        read_allowed(text)


def test_metadata_services_are_denied_before_anything_is_allowed() -> None:
    boundary = Boundary("t", "100.127.0.0/16", read_allowed("0.0.0.0/0"), (), (), 8473)
    outward = [line for line in base_rules(boundary, ()) if line.startswith("add rule inet t outward")]
    denied = next(
        number for number, line in enumerate(outward) if "169.254.0.0/16" in line and "reject" in line
    )
    assert denied < next(number for number, line in enumerate(outward) if "0.0.0.0/0 accept" in line)
    assert "accept" not in outward[-1]


def test_name_servers_on_the_loopback_are_replaced_by_those_that_they_ask(tmp_path: Path) -> None:
    host, upstream = tmp_path / "resolv.conf", tmp_path / "upstream"
    host.write_text("nameserver 127.0.0.53\nnameserver ::1\nsearch example.com\noptions edns0\n")
    upstream.write_text("nameserver 10.0.0.2\nnameserver fd00::2\n")
    found = find_resolvers(host=host, upstream=[tmp_path / "none", upstream])
    assert found == ("10.0.0.2",)
    assert resolv_conf(found, host) == "nameserver 10.0.0.2\nsearch example.com\noptions edns0\n"
    assert find_resolvers("192.0.2.1, 192.0.2.2", host) == ("192.0.2.1", "192.0.2.2")
    assert find_resolvers(host=host, upstream=[]) == ()
