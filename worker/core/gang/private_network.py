"""Addresses of a run's private network: the loopback on one machine, a VXLAN network between several. Pure.

Each generation of a gang has a network of its own, because the ranks of two generations live side by side while a gang resizes, and
because Gloo and NCCL find their address by the name of an interface. Every member computes the same values from the run, the generation
and the members, so nothing has to be agreed on.
"""

import hashlib
from collections.abc import Sequence
from ipaddress import ip_network

from muster.errors import Rejected
from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import GangMember

LOOPBACK_ADDRESS = "127.0.0.1"
GANG_NETWORK = ip_network("198.18.0.0/15")
"""Reserved for benchmarks (RFC 2544), so that no address of a site is hidden by it."""
BLOCK_PREFIX = 20
"""Prefix of one generation's addresses."""
_BLOCKS = 1 << (BLOCK_PREFIX - GANG_NETWORK.prefixlen)
_MOST_MEMBERS = (1 << (32 - BLOCK_PREFIX)) - 2
_VNIS = (1 << 24) - 1


def gang_interface(generation: int) -> str:
    """Return the name of the interface in a generation's network."""
    return f"gang{generation}"


def gang_address(generation: int, index: int) -> str:
    """Return the address of the member with this index.

    Raises:
        Rejected: The gang has more members than a generation has addresses (`gang_too_large`).
    """
    if index >= _MOST_MEMBERS:
        raise Rejected("gang_too_large", f"a private network connects at most {_MOST_MEMBERS} machines")
    block = (generation % _BLOCKS) << (32 - BLOCK_PREFIX)
    return str(GANG_NETWORK[block + index + 1])


def gang_mac(run: RunId, generation: int, worker: WorkerId) -> str:
    """Return the hardware address of a member."""
    return ":".join(f"{byte:02x}" for byte in (0x02, *_digest(run, generation, worker)[3:8]))


def gang_vni(run: RunId, generation: int, worker: WorkerId) -> int:
    """Return the VXLAN network identifier under which a member receives. Each has its own: two members may share a machine."""
    return 1 + int.from_bytes(_digest(run, generation, worker)[:3]) % _VNIS


def private_members(members: Sequence[GangMember], generation: int) -> tuple[GangMember, ...]:
    """Return the members with their addresses in the private network.

    Raises:
        Rejected: A member's runs use the network of its machine (`mixed_networks`).
    """
    if len(members) == 1:
        return (members[0].model_copy(update={"address": LOOPBACK_ADDRESS}),)
    if on_host := sorted(member.worker for member in members if not member.private_network):
        raise Rejected(
            "mixed_networks",
            f"this worker's runs have private networks, but those of {', '.join(on_host)} use the machine's: they cannot form a gang",
            hint="set MUSTER_WORKER__NETWORK to the same value on all workers of a pool",
        )
    return tuple(
        member.model_copy(update={"address": gang_address(generation, index)})
        for index, member in enumerate(members)
    )


def _digest(run: RunId, generation: int, worker: WorkerId) -> bytes:
    return hashlib.sha256(f"{run}/{generation}/{worker}".encode()).digest()
