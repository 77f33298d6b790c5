"""Finds the cause of a rank's exit: who is at fault, the last error, and whether memory ran out."""

from muster import wire
from worker.core.run.reasons import describe_full_disk
from worker.core.run.reducers import Cause
from worker.core.run.states import RunState
from worker.machine.disk_space import DiskSpace
from worker.machine.oom_kills import MemoryKills
from worker.runs.context import RunContext

FULL_DISK_BYTES = 1024 * 1024
"""If a rank fails while less is free, the full disk counts as the cause, whatever the exit code."""


def cause_of(
    context: RunContext, process: wire.ProcessFrame, rank: int, kills: MemoryKills, space: DiskSpace
) -> Cause:
    """Return the cause of a rank's exit. `kills`: OOM kills of the whole machine, if the run has no count of its own; `space`: of the worker's
    disk."""
    error = process.trial_error or (context.tail.last_error(rank) if process.exit_code else "")
    own_kills = context.machine.cgroups.kills(context.run.run_id)
    is_invalid = process.exit_code == wire.EXIT_INVALID
    return Cause(
        error=error,
        starved=kills.is_recent() if own_kills is None else own_kills > 0,
        machine=_fault_of(context, process, error, space),
        invalid=context.tail.invalid_reason(rank) if is_invalid else None,
    )


def _fault_of(context: RunContext, process: wire.ProcessFrame, error: str, space: DiskSpace) -> str:
    """Return why the machine, not user code, caused the exit; empty if it did not."""
    if process.error or process.exit_code == 0 or context.run.state is RunState.KILLING:
        return process.error
    machine = context.tools.machine
    if process.exit_code == wire.EXIT_DISK_FULL and space.was_full(context.tools.clock.monotonic()):
        return describe_full_disk(error, machine.full_text)
    return "" if machine.has_free_space(FULL_DISK_BYTES) else machine.full_text
