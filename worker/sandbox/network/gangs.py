"""The network of a gang over several machines: VXLAN between the namespaces of its members.

The VXLAN device stays connected to the machine's network when it is created in a run's namespace: runs cannot reach the outer packets.
It learns nothing from packets. A bridge on it carries the addresses, because VXLAN devices cannot deliver packets of a namespace to
another one on the same machine by themselves.
"""

import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import GangMember
from worker.core.gang.private_network import (
    BLOCK_PREFIX,
    GANG_INTERFACE,
    gang_address,
    gang_block,
    gang_mac,
    gang_vni,
)
from worker.sandbox.network.commands import NetworkFailed, bridge, ip, nft
from worker.sandbox.network.namespaces import Namespaces, chain_of, uplink_mtu
from worker.sandbox.network.rules import SOURCE_PORTS, Boundary, gang_rules

_DEVICE = "vxlan0"
_HEADERS_4, _HEADERS_6 = 50, 70
"""Bytes that VXLAN adds to a packet over IPv4 and IPv6."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another member: its hardware address, its machine's address, and the VNI that it receives under."""

    mac: str
    machine: str
    vni: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields for the worker's record."""
        return asdict(self)

    @property
    def entry(self) -> str:
        """The forwarding entry that leads to it."""
        return f"{self.mac} dev {_DEVICE} dst {self.machine} vni {self.vni} self"


@dataclass(frozen=True, slots=True)
class Membership:
    """The gang of one generation, seen by one member."""

    run: RunId
    worker: WorkerId
    generation: int
    members: Sequence[GangMember]

    @property
    def mine(self) -> GangMember | None:
        """This worker's entry; None if it is no member."""
        return next((member for member in self.members if member.worker == self.worker), None)


class Gangs:
    """Connects namespaces to their gangs."""

    def __init__(self, namespaces: Namespaces, boundary: Boundary) -> None:
        self._namespaces = namespaces
        self._boundary = boundary

    def join(self, number: int, gang: Membership, former: Sequence[Peer] | None) -> tuple[Peer, ...] | None:
        """Connect a namespace to the members of a generation, and to `former` ones, with which it still trains; return all of them.

        None: it has joined no gang.

        Raises:
            NetworkFailed: The kernel refused, or another run here has the same VXLAN identifier.
        """
        mine = gang.mine
        if mine is None or len(gang.members) == 1:
            return former if former is None else tuple(former)
        local, family = _resolve(mine.address)
        peers = tuple(
            Peer(
                gang_mac(gang.run, one.worker),
                _resolve(one.address, family)[0],
                gang_vni(gang.run, one.worker),
            )
            for one in gang.members
            if one.worker != gang.worker
        )
        known = tuple(dict.fromkeys((*peers, *(former or ()))))
        vni = gang_vni(gang.run, gang.worker)
        self._accept(number, vni, known, local)
        name = self._namespaces.name(number)
        if former is None:
            self._create_device(name, gang, local, vni)
        bridge(*(f"fdb replace {peer.entry} permanent" for peer in peers), namespace=name)
        ip(*_address_lines(gang), namespace=name)
        return known

    def settle(self, number: int, gang: Membership, peers: Sequence[Peer]) -> tuple[Peer, ...]:
        """Disconnect the members that have left; return those that remain."""
        mine = gang.mine
        macs = {gang_mac(gang.run, one.worker) for one in gang.members}
        staying = tuple(peer for peer in peers if peer.mac in macs)
        if mine is None or len(staying) == len(peers):
            return tuple(peers)
        gone = (f"fdb delete {peer.entry}" for peer in peers if peer not in staying)
        bridge(*gone, namespace=self._namespaces.name(number), must_succeed=False)
        self._accept(number, gang_vni(gang.run, gang.worker), staying, _resolve(mine.address)[0])
        return staying

    def _accept(self, number: int, vni: int, peers: Sequence[Peer], local: str) -> None:
        # Members on this machine exchange packets without its network.
        machines = sorted({peer.machine for peer in peers} - {local})
        nft(*gang_rules(self._boundary, chain_of(number), vni, machines))

    def _create_device(self, name: str, gang: Membership, local: str, vni: int) -> None:
        mac = gang_mac(gang.run, gang.worker)
        mtu = uplink_mtu(_device_of(local)) - (_HEADERS_6 if ":" in local else _HEADERS_4)
        ports = f"srcport {SOURCE_PORTS[0]} {SOURCE_PORTS[1]} dstport {self._boundary.gang_port}"
        try:
            ip(
                f"link add {_DEVICE} mtu {mtu} address {mac} netns {name} "
                f"type vxlan id {vni} local {local} {ports} nolearning"
            )
        except NetworkFailed as error:
            if "already exists" not in error.message:
                raise
            raise NetworkFailed(
                f"another run on this machine has the VXLAN identifier {vni}: the trial is started again with another one"
            ) from error
        ip(
            f"link add {GANG_INTERFACE} mtu {mtu} address {mac} type bridge mcast_snooping 0",
            f"link set {GANG_INTERFACE} addrgenmode none",
            f"link set {_DEVICE} addrgenmode none",
            f"link set {_DEVICE} master {GANG_INTERFACE} up",
            f"link set {GANG_INTERFACE} up",
            namespace=name,
        )


def _address_lines(gang: Membership) -> list[str]:
    """Return the lines that give a namespace its address in a generation, and the hardware addresses of the others'."""
    lines = [f"address flush dev {GANG_INTERFACE} to {gang_block(gang.generation)}"]
    for index, member in enumerate(gang.members):
        address = gang_address(gang.generation, index)
        if member.worker == gang.worker:
            lines.append(f"address add {address}/{BLOCK_PREFIX} dev {GANG_INTERFACE}")
        else:
            mac = gang_mac(gang.run, member.worker)
            lines.append(f"neighbour replace {address} lladdr {mac} dev {GANG_INTERFACE} nud permanent")
    return lines


def _resolve(address: str, family: int = socket.AF_UNSPEC) -> tuple[str, int]:
    """Return the IP address of a machine, and its family. Raises NetworkFailed."""
    try:
        found = socket.getaddrinfo(address, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise NetworkFailed(
            f"the address {address} of a gang's member cannot be resolved: {error}"
        ) from error
    return str(found[0][4][0]), found[0][0]


def _device_of(address: str) -> str:
    """Return the machine's network device with this address. Raises NetworkFailed."""
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.address.partition("%")[0] == address for entry in entries):
            return name
    raise NetworkFailed(
        f"{address}, this worker's address for gangs, is not an address of this machine: set MUSTER_WORKER__ADDRESS to one"
    )
