"""What a run needs on this machine before it can start: its code, the checkpoint it goes on from, its description."""

import asyncio

from muster.errors import Transient
from shared import telemetry
from shared.outages import Outages
from worker.context import RunContext
from worker.launch import spec_of, write_trial_file

MAX_RETRY_S = 5.0
_FETCHING = "fetching a run's files"


async def prepare(context: RunContext) -> None:
    """Fetch and write everything; an unreachable registry or store is waited for, as long as the run is wanted.

    Raises:
        Rejected: The code cannot be used, or the registry refuses it.
        OSError: The disk is full or broken.
    """
    retry_s = 0.1
    outages = Outages(run=str(context.run.run_id))
    while not context.run.is_over:
        try:
            with telemetry.span("prepare run", parent=context.trace, run=context.run.run_id):
                await _fetch(context)
            outages.worked(_FETCHING)
            return
        except Transient as error:
            outages.failed(_FETCHING, error)
            await asyncio.sleep(max(retry_s, min(error.retry_after_s, 1.0)))
            retry_s = min(retry_s * 2, MAX_RETRY_S)


async def _fetch(context: RunContext) -> None:
    allocation, tools, places = context.kept.allocation, context.tools, context.places
    spec = spec_of(allocation)
    run_id = context.run.run_id
    if spec.code_hash is not None:
        await tools.code.copy(run_id, allocation.tenant, spec.code_hash, places.code)
    latest = None
    if allocation.run_number > 1 or spec.start_checkpoint is not None:
        latest = await tools.checkpoints.restore(run_id, places.latest)
    write_trial_file(places, allocation, context.run, tools.machine, latest)
    if tools.machine.account is not None:
        tools.machine.account.own(places)
