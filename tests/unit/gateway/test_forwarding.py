"""Where a call comes from behind proxies: what the site's own say is believed, and what callers write is not."""

import time

import pytest

from muster.errors import Rejected
from services.gateway.platform.auth.client_address import ClientAddress, Proxies, caller_key, client_address
from services.gateway.settings import GatewaySection

NETWORKS = GatewaySection.model_validate(
    {"admin_token_file": "/x", "trusted_proxies": ["10.0.0.0/8", "2001:db8:f::/48"]}
).trusted_proxies
LISTED = Proxies(NETWORKS)
STANDARD = Proxies(NETWORKS, "Forwarded")
ANN = "198.51.100.7"


@pytest.mark.parametrize(
    ("peer", "lines", "schemes", "sender"),
    [
        (ANN, ["203.0.113.9"], ["https"], ClientAddress(ANN, False)),
        ("10.0.0.1", [], [], ClientAddress("10.0.0.1", False)),
        ("10.0.0.1", [ANN], ["https"], ClientAddress(ANN, True)),
        ("::ffff:10.0.0.1", [f"{ANN}:4711"], [], ClientAddress(ANN, False)),
        ("10.0.0.1", [f"203.0.113.9, {ANN}"], [], ClientAddress(ANN, False)),
        ("10.0.0.1", ["203.0.113.9", f"{ANN}, 10.2.3.4"], ["http, https"], ClientAddress(ANN, True)),
        ("10.0.0.1", ["10.9.9.9, 10.8.8.8"], [], ClientAddress("10.9.9.9", False)),
        ("10.0.0.1", ["nonsense"], [], ClientAddress("10.0.0.1", False)),
        ("10.0.0.1", [f"{ANN}, "], [], ClientAddress("10.0.0.1", False)),
        ("2001:db8:f::1", ["[2001:DB8::0001]:80"], [], ClientAddress("2001:db8::1", False)),
        ("10.0.0.1", ["::ffff:198.51.100.7"], [], ClientAddress(ANN, False)),
    ],
)
def test_the_listed_proxies_are_believed_and_no_further(
    peer: str, lines: list[str], schemes: list[str], sender: ClientAddress
) -> None:
    assert client_address(LISTED, peer, False, [lines, schemes]) == sender


@pytest.mark.parametrize(
    ("line", "sender"),
    [
        (f"for={ANN};proto=https;by=10.0.0.1", ClientAddress(ANN, True)),
        (f'For="[2001:db8::1]:4711", for={ANN}', ClientAddress(ANN, False)),
        (f'for=evil;proto=https, for="{ANN}:80";proto=http', ClientAddress(ANN, False)),
        (f"for={ANN};proto=https, for=10.1.1.1;proto=http", ClientAddress(ANN, True)),
        ("for=_hidden;proto=https", ClientAddress("10.0.0.1", True)),
        ("for=unknown", ClientAddress("10.0.0.1", False)),
        (f' for="a, b\\"; c" , for={ANN}', ClientAddress(ANN, False)),
        (",,", ClientAddress("10.0.0.1", False)),
    ],
)
def test_the_standard_header_is_read_as_it_is_written(line: str, sender: ClientAddress) -> None:
    assert client_address(STANDARD, "10.0.0.1", False, [[line]]) == sender


def test_a_quote_that_does_not_end_hides_nobody() -> None:
    with pytest.raises(Rejected, match="7239"):
        client_address(STANDARD, "10.0.0.1", False, [['for="evil', f"for={ANN}"]])


def test_the_header_that_the_proxies_do_not_write_is_not_looked_at() -> None:
    assert LISTED.names == ("X-Forwarded-For", "X-Forwarded-Proto") and STANDARD.names == ("Forwarded",)


def test_long_headers_take_no_time() -> None:
    began = time.process_time()
    for line in (" " * 8000 + "x", "for=" * 2000, "for=1.2.3.4," * 700, 'for="' + "\\a" * 4000):
        try:
            client_address(STANDARD, "10.0.0.1", False, [[line]])
        except Rejected:
            continue
    assert (
        client_address(LISTED, "10.0.0.1", False, [["10.0.0.1," * 1000 + "10.0.0.2"], []]).address
        == "10.0.0.1"
    )
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("address", "key"),
    [
        (ANN, ANN),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("unix", "unix"),
    ],
)
def test_who_has_a_network_is_one_caller(address: str, key: str) -> None:
    assert caller_key(address) == key
