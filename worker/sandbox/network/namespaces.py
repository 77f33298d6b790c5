"""Network namespaces of one worker: each with a loopback and one link to the machine, behind the worker's rules.

A namespace is known by a number, which is unique on the machine: the kernel refuses a second link of the same name.
"""

import json
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from worker.sandbox.network.commands import NetworkFailed, execute, ignore_failure, ip, nft, read_ip
from worker.sandbox.network.forwarding import LINK_PREFIX
from worker.sandbox.network.rules import Link, add_link, drop_gang, drop_link

FOLDER = Path("/run/netns")
INSIDE = "net0"
_DEFAULT_MTU = 1500


class Namespaces:
    """Creates and removes them. `table` is the worker's table of nftables, and the first part of the namespaces' names."""

    def __init__(self, table: str, subnet: IPv4Network) -> None:
        self._table = table
        self._subnet = subnet
        self._numbers = subnet.num_addresses // 2
        # Numbers are reused as late as possible: late packets of an ended run must not reach the next one.
        self._next = int.from_bytes(table.encode()) % self._numbers

    def name(self, number: int) -> str:
        """Return the name under which `ip netns` shows it."""
        return f"{self._table}-{number}"

    def path(self, number: int) -> Path:
        """Return the file that a process enters it by."""
        return FOLDER / self.name(number)

    def link(self, number: int) -> Link:
        """Return its link on the machine, and its address."""
        return Link(f"{LINK_PREFIX}{number}", str(self._subnet[2 * number + 1]))

    def existing(self) -> set[int]:
        """Return the numbers of all namespaces and links that this worker has created, also in part."""
        prefix = f"{self._table}-"
        files = FOLDER.glob(f"{prefix}*") if FOLDER.is_dir() else ()
        named = {file.name.removeprefix(prefix) for file in files}
        linked = {
            link["ifname"].removeprefix(LINK_PREFIX)
            for link in read_ip("link", "show")
            if link.get("ifalias") == self._table
        }
        return {int(text) for text in named | linked if text.isdecimal()}

    def create(self) -> int:
        """Create a namespace and return its number. Raises NetworkFailed."""
        number = self._claim_link()
        link, name, machine = self.link(number), self.name(number), self._subnet[2 * number]
        try:
            nft(*add_link(self._table, link))
            ip(f"address add {machine}/31 dev {link.name}", f"link set {link.name} up")
            ip(
                "link set lo up",
                f"address add {link.address}/31 dev {INSIDE}",
                f"link set {INSIDE} up",
                f"route add default via {machine}",
                namespace=name,
            )
        except NetworkFailed:
            self.remove(number)
            raise
        return number

    def remove(self, number: int) -> None:
        """Remove a namespace and everything that belongs to it. Processes that are still in it lose their network."""
        link, name = self.link(number), self.name(number)
        if self.path(number).exists():
            for device in read_ip("-n", name, "link", "show", "type", "vxlan"):
                ignore_failure("ip", "-n", name, "link", "delete", device["ifname"])
            ignore_failure("ip", "netns", "delete", name)
        if any(one.get("ifalias") == self._table for one in _links(link.name)):
            ignore_failure("ip", "link", "delete", link.name)
        nft(
            *add_link(self._table, link),
            *drop_link(self._table, link),
            *(line for chain in self._gang_chains(number) for line in drop_gang(self._table, chain)),
        )

    def _gang_chains(self, number: int) -> list[str]:
        found = json.loads(execute("nft", "-j", "list", "table", "inet", self._table))["nftables"]
        names = [one["chain"]["name"] for one in found if "chain" in one]
        return [name for name in names if name.startswith(f"gang_{number}_")]

    def _claim_link(self) -> int:
        mtu = uplink_mtu()
        for _ in range(self._numbers):
            number, self._next = self._next, (self._next + 1) % self._numbers
            name, link = self.name(number), self.link(number)
            if self.path(number).exists():
                continue
            execute("ip", "netns", "add", name)
            try:
                ip(
                    f"link add {link.name} mtu {mtu} type veth peer name {INSIDE} mtu {mtu} netns {name}",
                    f"link set {link.name} alias {self._table}",
                    f"link set {link.name} addrgenmode none",
                )
                ip(f"link set {INSIDE} addrgenmode none", namespace=name)
                return number
            except NetworkFailed as error:
                execute("ip", "netns", "delete", name)
                if "File exists" not in error.message:
                    raise
        raise NetworkFailed(f"all {self._numbers} addresses of {self._subnet} are in use")


def chain_of(number: int, generation: int) -> str:
    """Return the name of the chain that guards the network of a gang's generation in a namespace."""
    return f"gang_{number}_{generation}"


def uplink_mtu(device: str | None = None) -> int:
    """Return the packet size of a device; by default, of the one with the default route."""
    if device is None:
        routes = read_ip("route", "show", "default")
        device = next((route["dev"] for route in routes if "dev" in route), None)
    if device is None:
        return _DEFAULT_MTU
    return next((int(link["mtu"]) for link in _links(device)), _DEFAULT_MTU)


def _links(name: str) -> list[dict[str, Any]]:
    try:
        return read_ip("link", "show", "dev", name)
    except NetworkFailed:
        return []
