"""Executes the actions that `core/run/plan` plans. Neighbour: `supervisor` dispatches them."""

from collections.abc import Callable

import structlog

from muster import wire
from shared import telemetry
from shared.messages.trial_specs import Signal
from worker.core.process_names import RENDEZVOUS, generation_of, part_of, process_name
from worker.executors.interface import Order
from worker.journal.output_reader import outputs_of
from worker.ranks.launch.start_frames import assignment_frame, rank_frames, rendezvous_frame
from worker.ranks.step_meter import StepMeter
from worker.runs.context import RunContext
from worker.runs.preparing.network import leave_former_gangs
from worker.sandbox.trial_files import TrialFile, remove_trial_file
from worker.store.records import StoredRun

Send = Callable[[Order], None]
_OVERDUE = "the trial was asked to {asked} but did not end within {within_s:g} s (preemption_timeout): the worker kills it"
_SIGKILL = 9
_log = structlog.get_logger()


def decide(context: RunContext, signal: Signal, decide_at: float | None) -> None:
    """Send the ranks the time of the searcher's next decision, unless a verdict already has."""
    if decide_at != context.session.decide_at:
        context.session.decide(0, str(signal), decide_at)


def conclude(context: RunContext, send: Send) -> None:
    """Take the last log lines and reports of a run that has ended here, and kill its remaining processes."""
    run = context.run
    context.session.finish(context.paths.unsent)
    context.session.close()
    context.tail.end(final_log_lines(context.stored))
    context.media.finish()
    if context.profile:
        context.profile.finish(context.profiled_run)
    context.report_source.wake(urgent=True)
    context.log_source.wake(urgent=True)
    send(wire.Kill(str(run.run_id), _SIGKILL))
    send(wire.Forget(str(run.run_id)))
    context.machine.cgroups.end(run.run_id)
    for path in context.secrets.files:
        remove_trial_file(TrialFile(context.paths.home, path))
    _log.info("a run ended", run=str(run.run_id), exit_code=run.ending.exit_code, reason=run.ending.reason)


def final_log_lines(stored: StoredRun) -> tuple[str, ...]:
    """Return the last lines that the worker adds to the log of an ended run."""
    reason = stored.run.ending.reason
    return (f"run {stored.allocation.run_number}: {reason}",) if reason else ()


def open_rendezvous(context: RunContext, send: Send) -> None:
    """Make the warm parent start the gang's rendezvous."""
    send(rendezvous_frame(context.run, context.stored.allocation, context.machine))


def start_ranks(context: RunContext, send: Send) -> None:
    """Make the warm parent start all local ranks."""
    run = context.run
    context.phases.on_ranks_asked()
    with telemetry.span("start ranks", parent=context.trace, run=run.run_id, slots=run.gang.assignment.ranks):
        for frame in rank_frames(
            run,
            context.stored.allocation,
            context.paths,
            context.machine,
            context.stored.token,
            secrets=context.secrets.variables,
        ):
            send(frame)


def start_standby_ranks(context: RunContext, first: int, send: Send) -> None:
    """Make the warm parent start the ranks from local number `first` on, on standby."""
    run, machine = context.run, context.machine
    try:
        limit_resources(context)
    except OSError as error:  # a running training must not end for this
        context.tail.warn(f"the resource limits of the run could not be updated: {error}")
    births = run.ranks.births
    born = range(first, len(births))
    context.tail.follow(outputs_of(context.paths, [births[local][1] for local in born]), context.account)
    with telemetry.span("start stand-by ranks", parent=context.trace, run=run.run_id, slots=len(born)):
        for frame in rank_frames(
            run,
            context.stored.allocation,
            context.paths,
            machine,
            context.stored.token,
            born,
            context.secrets.variables,
        ):
            send(frame)


def send_assignments(context: RunContext) -> None:
    """Send every connected rank its assignment."""
    for local in context.session.elastic.connected:
        send_assignment(context, local)


def send_assignment(context: RunContext, local: int) -> None:
    """Send a rank its assignment; it ignores one that it already knows."""
    frame = assignment_frame(local, context.run, context.stored.allocation, context.machine)
    context.session.elastic.send(local, frame)


def close_rendezvous(context: RunContext, send: Send) -> None:
    """End the rendezvous of earlier generations, leave their networks, and restart the step time measurement."""
    for name in context.started:
        if part_of(name) == RENDEZVOUS and generation_of(name) < context.run.gang.generation:
            send(wire.Kill(str(context.run.run_id), _SIGKILL, name))
    context.session.step_meter = StepMeter()
    leave_former_gangs(context)


def kill_ranks(context: RunContext, send: Send) -> None:
    """Kill every process of the run; log why if the user had been asked to end it."""
    run = context.run
    was_asked = run.asked not in (Signal.RUN, Signal.KILL) and not run.request.dropped
    if run.ending.forced and was_asked:
        message = _OVERDUE.format(asked=run.asked, within_s=run.request.preemption_timeout_s)
        context.tail.log(message, "warning")
    send(wire.Kill(str(run.run_id), _SIGKILL))


def limit_resources(context: RunContext) -> None:
    """Set the kernel's resource limits for the run by its slots on this machine. Raises OSError."""
    run, members = context.run, context.stored.allocation.members
    context.machine.cgroups.make(run.run_id, members[run.gang.next_assignment.index].slots)


def resume(context: RunContext, send: Send) -> None:
    """Resume a resize after a restart of the daemon: repeat orders that the warm parent may have missed; it ignores names that it knows."""
    run, gang = context.run, context.run.gang
    if gang.formation is None:
        return
    if gang.rendezvous_asked and gang.rendezvous is None:
        open_rendezvous(context, send)
    missing = [
        local
        for local, (born, _) in enumerate(run.ranks.births)
        if process_name(run.run_id, born, local) not in context.started
    ]
    if missing:
        start_standby_ranks(context, missing[0], send)
