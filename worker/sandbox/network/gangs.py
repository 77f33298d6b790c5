"""The network of a gang over several machines: VXLAN between the namespaces of its members, one for each generation.

The VXLAN device stays connected to the machine's network when it is created in a run's namespace: runs cannot reach the outer packets.
It learns nothing from packets. A bridge on it carries the address, because VXLAN devices cannot deliver packets of a namespace to
another one on the same machine by themselves.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import GangMember
from worker.core.gang.private_network import BLOCK_PREFIX, gang_address, gang_interface, gang_mac, gang_vni
from worker.sandbox.network.commands import NetworkFailed, bridge, ignore_failure, ip, nft
from worker.sandbox.network.namespaces import Namespaces, chain_of, uplink_mtu
from worker.sandbox.network.rules import SOURCE_PORTS, Boundary, drop_gang, gang_rules

_HEADERS_4, _HEADERS_6 = 50, 70
"""Bytes that VXLAN adds to a packet over IPv4 and IPv6."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The gang of one generation, seen by one of its members, `worker`."""

    run: RunId
    worker: WorkerId
    generation: int
    members: Sequence[GangMember]

    @property
    def is_on_one_machine(self) -> bool:
        """Whether the loopback connects it."""
        return len(self.members) == 1

    @property
    def mine(self) -> GangMember | None:
        """This worker's entry; None if it has left the gang."""
        return next((member for member in self.members if member.worker == self.worker), None)

    @property
    def others(self) -> list[tuple[int, GangMember]]:
        """The other members, with their index."""
        return [(index, member) for index, member in enumerate(self.members) if member.worker != self.worker]


class Gangs:
    """Connects namespaces to their gangs."""

    def __init__(self, namespaces: Namespaces, boundary: Boundary) -> None:
        self._namespaces = namespaces
        self._boundary = boundary

    def join(self, number: int, gang: Membership, mine: GangMember) -> None:
        """Connect a namespace to the other members.

        Raises:
            NetworkFailed: The kernel refused, or another run here has the same VXLAN identifier.
        """
        self.leave(number, gang.generation)  # what a killed daemon has created in part
        local, family = _resolve(mine.address)
        machines = {member.worker: _resolve(member.address, family)[0] for _, member in gang.others}
        name, generation, run = self._namespaces.name(number), gang.generation, gang.run
        vni = gang_vni(run, generation, gang.worker)
        # Members on this machine exchange packets without its network.
        accepted = sorted({*machines.values()} - {local})
        nft(*gang_rules(self._boundary, chain_of(number, generation), vni, accepted))
        self._create_devices(name, gang, local, vni)
        neighbours, entries = [], []
        for index, member in gang.others:
            mac, peer = gang_mac(run, generation, member.worker), gang_vni(run, generation, member.worker)
            address, device = gang_address(generation, index), gang_interface(generation)
            neighbours.append(f"neighbour replace {address} lladdr {mac} dev {device} nud permanent")
            where = f"dst {machines[member.worker]} vni {peer}"
            entries.append(f"fdb replace {mac} dev {_vxlan(generation)} {where} self permanent")
        ip(*neighbours, namespace=name)
        bridge(*entries, namespace=name)

    def leave(self, number: int, generation: int) -> None:
        """Remove the network of a generation from a namespace. Raises NetworkFailed."""
        name = self._namespaces.name(number)
        for device in (_vxlan(generation), gang_interface(generation)):
            ignore_failure("ip", "-n", name, "link", "delete", device)
        nft(*drop_gang(self._boundary.table, chain_of(number, generation)))

    def _create_devices(self, name: str, gang: Membership, local: str, vni: int) -> None:
        mac = gang_mac(gang.run, gang.generation, gang.worker)
        mtu = uplink_mtu(_device_of(local)) - (_HEADERS_6 if ":" in local else _HEADERS_4)
        ports = f"srcport {SOURCE_PORTS[0]} {SOURCE_PORTS[1]} dstport {self._boundary.gang_port}"
        outer, inner = _vxlan(gang.generation), gang_interface(gang.generation)
        try:
            ip(
                f"link add {outer} mtu {mtu} address {mac} netns {name} "
                f"type vxlan id {vni} local {local} {ports} nolearning"
            )
        except NetworkFailed as error:
            if "already exists" not in error.message:
                raise
            raise NetworkFailed(
                f"another run on this machine has the VXLAN identifier {vni}: the trial is started again with another one"
            ) from error
        index = next(index for index, member in enumerate(gang.members) if member.worker == gang.worker)
        ip(
            f"link add {inner} mtu {mtu} address {mac} type bridge mcast_snooping 0",
            f"link set {inner} addrgenmode none",
            f"link set {outer} addrgenmode none",
            f"link set {outer} master {inner} up",
            f"link set {inner} up",
            f"address add {gang_address(gang.generation, index)}/{BLOCK_PREFIX} dev {inner}",
            namespace=name,
        )


def _vxlan(generation: int) -> str:
    return f"vxlan{generation}"


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
