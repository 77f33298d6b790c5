"""The private network of a run: taken before its first process starts, connected to the gang's other machines, given back at its end."""

import asyncio

import structlog

from muster.errors import MusterError
from worker.core.gang.private_network import private_members
from worker.runs.context import RunContext
from worker.sandbox.network.gangs import Membership

_log = structlog.get_logger()


async def enter_network(context: RunContext) -> None:
    """Give the run its network, if this worker's runs have private ones, and connect it to its gang.

    Raises:
        MusterError: It cannot be created or connected; the run ends uncharged.
    """
    networks = context.tools.machine.networks
    if networks is None:
        return
    await networks.take(context.run.run_id)
    if len(context.stored.allocation.members) > 1:
        await asyncio.to_thread(join_gang_network, context)


def join_gang_network(context: RunContext) -> None:
    """Connect the run to the members of its newest generation. Raises MusterError."""
    networks = context.tools.machine.networks
    if networks is not None and networks.path(context.run.run_id):
        gang = _membership(context)
        private_members(gang.members, gang.generation)
        networks.join_gang(gang)


def leave_former_gangs(context: RunContext) -> None:
    """Remove the networks of the gang's earlier generations, which former members may have."""
    if (networks := context.tools.machine.networks) is None:
        return
    try:
        networks.leave_gangs(context.run.run_id, except_generation=context.stored.allocation.generation)
    except MusterError as error:
        _log.warning(
            "an earlier network of a gang could not be removed", run=str(context.run.run_id), error=str(error)
        )


def _membership(context: RunContext) -> Membership:
    allocation = context.stored.allocation
    return Membership(context.run.run_id, context.tools.worker, allocation.generation, allocation.members)
