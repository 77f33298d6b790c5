"""The addresses by which the members of a run's gang reach each other: those of its private network, or the machines'."""

from collections.abc import Sequence

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from worker.core.gang.network import LOOPBACK, joining_interface
from worker.core.gang.private_network import gang_interface, private_members
from worker.core.run.records import LocalRun
from worker.machine.host import Machine, interfaces


def members_of(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> Sequence[GangMember]:
    """Return the members with the addresses that ranks use.

    Raises:
        Rejected: Only some members have private networks (`mixed_networks`).
    """
    if not machine.network_of(run.run_id):
        return allocation.members
    return private_members(allocation.members, run.gang.generation)


def own_address(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> str:
    """Return this worker's address in the gang, on which a chief opens the rendezvous."""
    if not machine.network_of(run.run_id):
        return machine.address
    return members_of(run, allocation, machine)[run.gang.next_assignment.index].address


def interface_of(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> str:
    """Return the network interface with this worker's address in the gang."""
    if machine.network_of(run.run_id):
        return LOOPBACK if len(allocation.members) == 1 else gang_interface(run.gang.generation)
    peers = [member.address for member in allocation.members if member.worker != machine.worker]
    return joining_interface(machine.address, peers, interfaces())
