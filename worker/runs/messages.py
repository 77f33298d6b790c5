"""Converts between the scheduler's messages and the core's records."""

from typing import Literal

from shared.messages.allocations import DesiredAllocation, DesiredSet, ObservedAllocation, StepMeasurement
from worker.core.run.desired import Desired
from worker.core.run.records import LocalRun
from worker.core.run.resize import can_resize, joined, prepared
from worker.core.run.states import TRAINING, RunState
from worker.ranks.launch.trial_file import spec_of
from worker.runs.context import RunContext


def read_desired(message: DesiredSet) -> tuple[Desired, ...]:
    """Return the allocations of a desired set."""
    return tuple(_read_allocation(allocation) for allocation in message.allocations)


def _read_allocation(allocation: DesiredAllocation) -> Desired:
    return Desired(
        allocation_id=allocation.allocation_id,
        run_id=allocation.run_id,
        token=allocation.token,
        generation=allocation.generation,
        members=allocation.members,
        signal=allocation.signal,
        decide_at=allocation.decide_at,
        rendezvous=allocation.rendezvous,
        preemption_timeout_s=allocation.preemption_timeout_s,
        distributed=allocation.spec.distributed if allocation.spec else None,
        hangs=allocation.hangs,
    )


def observed_of(context: RunContext) -> ObservedAllocation:
    """Return the observed state of a run."""
    run, session = context.run, context.session
    ending = run.ending
    return ObservedAllocation(
        allocation_id=run.allocation_id,
        run_id=run.run_id,
        token=run.token,
        generation=run.gang.generation,
        state=_observed_state(run),
        signal=run.request.signal,
        decide_at=run.request.decide_at,
        rendezvous=run.gang.rendezvous if run.gang.assignment.is_chief else None,
        acknowledged=run.notice.acknowledged,
        forced=ending.forced,
        exit_code=ending.exit_code,
        fault=ending.fault,
        reason=ending.reason,
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


def _observed_state(run: LocalRun) -> Literal["preparing", "running", "exited"]:
    if run.is_over:
        return "exited"
    return "running" if run.state in TRAINING or run.state is RunState.KILLING else "preparing"


def _measured(context: RunContext) -> StepMeasurement | None:
    """Return the step measurement of an elastic run; None for others."""
    slots = spec_of(context.stored.allocation).slots
    if slots.min == slots.max:
        return None
    return context.session.step_meter.measured()
