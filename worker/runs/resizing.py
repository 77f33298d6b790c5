"""The work of a resize on this machine: stand-by ranks are started, seats are told, the meeting place of the gang that was is closed.

Neighbours: `core/run/resize` says what is to be done, `supervisor` keeps and calls.
"""

from collections.abc import Callable

from muster import wire
from shared import telemetry
from worker.core.naming import RENDEZVOUS, generation_of, part_of, process_name
from worker.core.run.resize import StartStandBys, TellSeats
from worker.executors.port import Order
from worker.journal.outputs import outputs_of
from worker.ranks.launch.frames import rank_frames, rendezvous_frame, seat_frame
from worker.runs.context import RunContext

Send = Callable[[Order], None]
_SIGKILL = 9


def do_resize(context: RunContext, action: StartStandBys | TellSeats, send: Send) -> None:
    """Do what was planned."""
    match action:
        case StartStandBys():
            _start_stand_bys(context, action.first, send)
        case TellSeats():
            for local in context.session.seats.taken:
                tell_seat(context, local)


def tell_seat(context: RunContext, local: int) -> None:
    """Tell a rank where it belongs; it passes over what it knows."""
    frame = seat_frame(local, context.run, context.kept.allocation, context.machine)
    context.session.seats.tell(local, frame)


def bound_here(context: RunContext) -> None:
    """Have the kernel bound what the run may have on this machine, by the slots that it has here. Raises OSError."""
    run, members = context.run, context.kept.allocation.members
    context.machine.cgroups.make(run.run_id, members[run.next_seat.index].slots)


def close_meetings(context: RunContext, send: Send) -> None:
    """End what held the gangs before this one together."""
    for name in context.started:
        if part_of(name) == RENDEZVOUS and generation_of(name) < context.run.generation:
            send(wire.Kill(str(context.run.run_id), _SIGKILL, name))


def resume(context: RunContext, send: Send) -> None:
    """Another daemon goes on with a resize: ask again for what the warm parent may not have heard; it knows what it has done by its name."""
    run = context.run
    if run.formation is None:
        return
    if run.rendezvous_asked and run.rendezvous is None:
        send(rendezvous_frame(run, context.kept.allocation, context.machine))
    missing = [
        local
        for local, (born, _) in enumerate(run.births)
        if process_name(run.run_id, born, local) not in context.started
    ]
    if missing:
        _start_stand_bys(context, missing[0], send)


def _start_stand_bys(context: RunContext, first: int, send: Send) -> None:
    run, machine = context.run, context.machine
    try:
        bound_here(context)
    except OSError as error:  # a training that goes on well is not ended for it
        context.tail.warn(f"what this machine may give the run stays bounded as it was: {error}")
    born = range(first, len(run.births))
    context.tail.follow(outputs_of(context.places, [run.births[local][1] for local in born]))
    if machine.account is not None:
        machine.account.own(context.places)
    with telemetry.span("start stand-by ranks", parent=context.trace, run=run.run_id, slots=len(born)):
        for frame in rank_frames(
            run, context.kept.allocation, context.places, machine, context.kept.token, born
        ):
            send(frame)
