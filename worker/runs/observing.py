"""What the scheduler is told of a run on this machine."""

from shared.messages.allocations import Measured, ObservedAllocation
from worker.core.run.resize import can_resize, joined, prepared
from worker.core.run.states import RunState
from worker.ranks.launch.description import spec_of
from worker.runs.context import RunContext


def observed_of(context: RunContext) -> ObservedAllocation:
    """What is here of a run now."""
    run, session = context.run, context.session
    states = {RunState.FETCHING: "preparing", RunState.STARTING: "preparing", RunState.EXITED: "exited"}
    return ObservedAllocation(
        allocation_id=run.allocation_id,
        run_id=run.run_id,
        token=run.token,
        generation=run.generation,
        state=states.get(run.state, "running"),
        wanted=run.wanted,
        decide_at=run.decide_at,
        rendezvous=run.rendezvous if run.seat.is_chief else None,
        acknowledged=run.acknowledged,
        forced=run.forced,
        exit_code=run.exit_code,
        fault=run.fault,
        reason=run.reason,
        invalid=run.is_invalid,
        validations=session.validations,
        checkpoints=context.uploads.announced,
        step=session.step,
        measured=_measured(context),
        is_live=can_resize(run),
        prepared=prepared(run),
        joined=joined(run),
        policies=run.policies,
        hangs=context.watch.hang is not None,
    )


def _measured(context: RunContext) -> Measured | None:
    """How an elastic run trains; of others nobody asks."""
    slots = spec_of(context.kept.allocation).slots
    if slots.min == slots.max:
        return None
    return context.session.pace.measured()
