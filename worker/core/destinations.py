"""Which addresses runs may reach. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses

from worker.core.gang.private_network import GANG_NETWORK

PUBLIC = "public"
NEVER = (
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",  # link-local: the metadata service of AWS, Google Cloud, Azure, OpenStack and others
    "100.100.100.200/32",  # the metadata service of Alibaba Cloud
    "168.63.129.16/32",  # the host agent of Azure
    "192.0.0.192/32",  # the metadata service of older Oracle Cloud images
    "224.0.0.0/4",
    "240.0.0.0/4",
    str(GANG_NETWORK),
)
"""Denied whatever the site allows. Metadata services have IPv6 addresses too (fd00:ec2::254): runs have no IPv6 beyond the loopback."""
PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16")
"""Denied unless the site allows them, as are the networks that the machine is connected to."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A network that runs may reach, and the range of TCP and UDP ports; no range: all protocols."""

    network: IPv4Network
    ports: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """Destinations that the site allows: listed ones, and whether everything public."""

    destinations: tuple[Destination, ...] = ()
    is_public: bool = False


def read_allowed(text: str) -> Allowed:
    """Parse `public,10.1.0.0/16,10.2.0.7:443,10.2.0.8:8000-8100`.

    Raises:
        ValueError: An entry is not a network; the message names it.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    destinations = tuple(_read_destination(entry) for entry in entries if entry != PUBLIC)
    return Allowed(destinations, PUBLIC in entries)


def merged(networks: Iterable[str]) -> Sequence[str]:
    """Return the networks without those that another one contains."""
    return [str(one) for one in collapse_addresses(IPv4Network(text, strict=False) for text in networks)]


def _read_destination(entry: str) -> Destination:
    network, _, ports = entry.partition(":")
    first, _, last = ports.partition("-")
    try:
        found = IPv4Network(network, strict=False)
        if ":" not in entry:
            return Destination(found)
        lowest, highest = int(first), int(last or first)
        if not 0 < lowest <= highest < 1 << 16:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{entry!r} is not a network that runs can reach: write an IPv4 network such as 10.1.0.0/16, "
            f"with ports 10.1.0.7:443 or 10.1.0.7:8000-8100, or {PUBLIC!r}"
        ) from None
    return Destination(found, (lowest, highest))
