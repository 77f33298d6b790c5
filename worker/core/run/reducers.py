"""Reducers: `on_<event>(run, …) -> run`. Pure. Neighbour: `plan` returns the actions that follow."""

from dataclasses import dataclass, replace

from shared.messages.trial_specs import PolicyMatch, Signal
from worker.core.gang.assignment import FormationStep
from worker.core.run.desired import Desired
from worker.core.run.reasons import PARENT_DIED, SIGKILLED, describe_exit, describe_invalid
from worker.core.run.records import Fault, LocalRun, Notice
from worker.core.run.states import MACHINE, TRAINING, Trigger


@dataclass(frozen=True, slots=True)
class Cause:
    """What is known about a rank's exit besides its exit code.

    Attributes:
        error: The last error in the rank's output.
        starved: Whether the kernel just killed a process for lack of memory.
        machine: Why the machine, not user code, caused it; empty if it did not.
        invalid: Why it reported its hyperparameters as invalid; None if it did not, even with that exit code.
    """

    error: str = ""
    starved: bool = False
    machine: str = ""
    invalid: str | None = None


UNKNOWN = Cause()


def on_desired(run: LocalRun, desired: Desired) -> LocalRun:
    """Apply the newest desired state. A chief keeps the rendezvous that it opened."""
    gang, request = run.gang, run.request
    formation = gang.formation
    is_due = formation is not None and desired.rendezvous and desired.generation == formation.generation
    if formation is not None and is_due and formation.step is FormationStep.PREPARING:
        formation = replace(formation, step=FormationStep.PREPARED)
    gang = replace(
        gang,
        generation=max(gang.generation, desired.generation),
        rendezvous=gang.rendezvous if gang.assignment.is_chief else desired.rendezvous or gang.rendezvous,
        formation=formation,
    )
    has_verdict = request.verdicts > 0
    request = replace(
        request,
        signal=desired.signal,
        decide_at=_later(request.decide_at, desired.decide_at) if has_verdict else desired.decide_at,
        preemption_timeout_s=desired.preemption_timeout_s,
        dropped=False,
    )
    return replace(run, gang=gang, request=request)


def on_dropped(run: LocalRun) -> LocalRun:
    """Mark a run that the desired set lacks as dropped: it has no right to slots here."""
    return replace(run, request=replace(run.request, dropped=True))


def on_verdict(run: LocalRun, signal: Signal, decide_at: float | None) -> LocalRun:
    """Apply a verdict of the searcher. A stop or pause holds even if an older desired set arrives later."""
    request = run.request
    verdict = request.verdict if signal is Signal.RUN else signal
    decided = replace(request, verdict=verdict, decide_at=decide_at, verdicts=request.verdicts + 1)
    return replace(run, request=decided)


def on_prepared(run: LocalRun) -> LocalRun:
    """Record that code, checkpoint and environment are ready."""
    return run if run.is_over else move(run, Trigger.PREPARED)


def on_failed(run: LocalRun, trigger: Trigger, fault: Fault, reason: str) -> LocalRun:
    """Record that the run could not be prepared or started."""
    if run.is_over:
        return run
    return replace(move(run, trigger), ending=replace(run.ending, fault=fault, reason=reason))


def on_rendezvous(run: LocalRun, address: str) -> LocalRun:
    """Record the address of the chief's rendezvous."""
    return replace(run, gang=replace(run.gang, rendezvous=address))


def on_started(run: LocalRun) -> LocalRun:
    """Record that all local ranks were started."""
    started = move(run, Trigger.STARTED)
    return started if started.gang.formation is None else move(started, Trigger.RESIZE_ORDERED)


def on_acknowledged(run: LocalRun, signal: Signal) -> LocalRun:
    """Record that `should_stop()` returned True to user code."""
    return replace(run, notice=replace(run.notice, acknowledged=signal))


def on_exit(run: LocalRun, rank: int, code: int, now: float, cause: Cause = UNKNOWN) -> LocalRun:
    """Record the exit of a local rank; the last one ends the run here."""
    if cause.machine:
        run = on_fault(run, cause.machine)
    exits = run.exits
    if cause.invalid is not None:
        exits = replace(exits, invalid=cause.invalid)
    if any(rank == seen for seen, _ in exits.codes):
        return replace(run, exits=exits)
    if code != 0 and not exits.have_failed:
        exits = replace(exits, error=cause.error, starved=cause.starved and code == SIGKILLED)
    exits = replace(exits, codes=(*exits.codes, (rank, code)), last_at=now)
    ended = replace(run, exits=exits)
    return ended if len(exits.codes) < run.local_ranks else _conclude(ended)


def on_policies(run: LocalRun, met: tuple[PolicyMatch, ...]) -> LocalRun:
    """Record matched log policies; each counts once."""
    news = tuple(match for match in met if match not in run.policies)
    return replace(run, policies=(*run.policies, *news)) if news else run


def on_fault(run: LocalRun, reason: str, fault: Fault = "machine", kill_at: float | None = None) -> LocalRun:
    """End a run because of a fault. Only faults of its own code are charged to the user. Training ranks may exit by
    themselves until `kill_at`."""
    if run.is_over or run.has_fault:
        return run
    may_end = run.state in TRAINING and kill_at is not None
    ending = replace(run.ending, fault=fault, reason=reason, kill_at=kill_at if may_end else None)
    failed = replace(run, ending=ending)
    return move(failed, Trigger.TERMINATED) if may_end else failed


def on_parent_lost(run: LocalRun) -> LocalRun:
    """Record the death of the warm parent and of the ranks it had started."""
    if not run.has_launched:
        rendezvous = None if run.gang.assignment.is_chief else run.gang.rendezvous
        return replace(run, gang=replace(run.gang, rendezvous_asked=False, rendezvous=rendezvous))
    ending = replace(run.ending, fault="machine", reason=PARENT_DIED)
    return replace(move(run, Trigger.ALL_ENDED), ending=ending)


def on_forgotten(run: LocalRun) -> LocalRun:
    """Record that the scheduler has seen the end."""
    return move(run, Trigger.FORGOTTEN)


def cancel(run: LocalRun) -> LocalRun:
    """End a run before any rank was started. This acknowledges every request except kill."""
    acknowledged = None if run.asked in (Signal.RUN, Signal.KILL) else run.asked
    ending = replace(
        run.ending,
        exit_code=None if run.has_fault else 0,
        forced=acknowledged is None and not run.has_fault,
    )
    notice = Notice(run.asked, run.notice.at, acknowledged)
    return replace(move(run, Trigger.CANCELLED), notice=notice, ending=ending)


def move(run: LocalRun, trigger: Trigger) -> LocalRun:
    """Return the run in the next state of the state machine."""
    return replace(run, state=MACHINE.next(run.state, trigger))


def _later(one: float | None, other: float | None) -> float | None:
    """Return the later decision time (None: never): a desired set older than a verdict must not restore an old time."""
    return None if one is None or other is None else max(one, other)


def _conclude(run: LocalRun) -> LocalRun:
    """End the run with the exit code of the first failure: later ones in the gang follow from it."""
    exits, ending = run.exits, run.ending
    code = next((code for _, code in exits.codes[: ending.counted] if code != 0), 0)
    ended = move(run, Trigger.ALL_ENDED)
    if run.has_fault:
        return ended
    if code == 0 or ending.forced:
        return replace(ended, ending=replace(ending, exit_code=code))
    reason = describe_exit(code, exits.error, exits.starved)
    if exits.invalid is not None:
        reason = describe_invalid(exits.invalid)
    return replace(ended, ending=replace(ending, exit_code=code, fault="user", reason=reason))
