"""What each event makes of a run: `on_<event>(run, …) -> run`. Pure. Neighbour: `plan` has what is to be done about it then."""

from dataclasses import dataclass, replace

from shared.messages.specs import PolicyMatch, Signal
from worker.core.gang.assignment import FormationStep
from worker.core.run.desired import Desired
from worker.core.run.reasons import PARENT_DIED, SIGKILLED, describe_exit, describe_invalid
from worker.core.run.records import Fault, LocalRun, Notice
from worker.core.run.states import MACHINE, TRAINING, Trigger


@dataclass(frozen=True, slots=True)
class Cause:
    """What is known of a rank's end beside its exit code.

    Attributes:
        said: The error that the rank named.
        starved: Whether the kernel has just killed for lack of memory.
        machine: Why the machine, and not user code, is to blame; empty where it is not.
        invalid: Why it called its hyperparameters invalid; None where it has only chosen that exit code, or another.
    """

    error: str = ""
    starved: bool = False
    machine: str = ""
    invalid: str | None = None


UNKNOWN = Cause()


def on_desired(run: LocalRun, desired: Desired) -> LocalRun:
    """Take over the newest desired state. A chief keeps the rendezvous it opened itself."""
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
        wanted=desired.wanted,
        decide_at=_later(request.decide_at, desired.decide_at) if has_verdict else desired.decide_at,
        preemption_timeout_s=desired.preemption_timeout_s,
        dropped=False,
    )
    return replace(run, gang=gang, request=request)


def on_dropped(run: LocalRun) -> LocalRun:
    """The desired set does not name it: it has no right to slots here."""
    return replace(run, request=replace(run.request, dropped=True))


def on_verdict(run: LocalRun, signal: Signal, decide_at: float | None) -> LocalRun:
    """The searcher decided. A stop or pause stays, whatever an older desired set says."""
    request = run.request
    verdict = request.verdict if signal is Signal.RUN else signal
    decided = replace(request, verdict=verdict, decide_at=decide_at, verdicts=request.verdicts + 1)
    return replace(run, request=decided)


def on_prepared(run: LocalRun) -> LocalRun:
    """Code, checkpoint and environment are ready on this machine."""
    return run if run.is_over else move(run, Trigger.PREPARED)


def on_failed(run: LocalRun, trigger: Trigger, fault: Fault, reason: str) -> LocalRun:
    """It could not be prepared or started."""
    if run.is_over:
        return run
    return replace(move(run, trigger), ending=replace(run.ending, fault=fault, reason=reason))


def on_rendezvous(run: LocalRun, address: str) -> LocalRun:
    """The chief's rendezvous is open."""
    return replace(run, gang=replace(run.gang, rendezvous=address))


def on_started(run: LocalRun) -> LocalRun:
    """All local ranks were forked."""
    started = move(run, Trigger.STARTED)
    return started if started.gang.formation is None else move(started, Trigger.RESIZE_ORDERED)


def on_acknowledged(run: LocalRun, signal: Signal) -> LocalRun:
    """`should_stop()` answered True."""
    return replace(run, notice=replace(run.notice, acknowledged=signal))


def on_exit(run: LocalRun, rank: int, code: int, now: float, cause: Cause = UNKNOWN) -> LocalRun:
    """A local rank ended; the last one ends the run here."""
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
    """Its output met log policies; each counts once."""
    news = tuple(match for match in met if match not in run.policies)
    return replace(run, policies=(*run.policies, *news)) if news else run


def on_fault(run: LocalRun, reason: str, fault: Fault = "machine", kill_at: float | None = None) -> LocalRun:
    """It cannot go on here, and is ended: at no cost to the user, but where its own code is at fault. Ranks that train may end by
    themselves until `kill_at`."""
    if run.is_over or run.has_fault:
        return run
    may_end = run.state in TRAINING and kill_at is not None
    ending = replace(run.ending, fault=fault, reason=reason, kill_at=kill_at if may_end else None)
    failed = replace(run, ending=ending)
    return move(failed, Trigger.TERMINATED) if may_end else failed


def on_parent_lost(run: LocalRun) -> LocalRun:
    """The warm parent died and its ranks with it, unless they never started."""
    if not run.has_launched:
        rendezvous = None if run.gang.assignment.is_chief else run.gang.rendezvous
        return replace(run, gang=replace(run.gang, rendezvous_asked=False, rendezvous=rendezvous))
    ending = replace(run.ending, fault="machine", reason=PARENT_DIED)
    return replace(move(run, Trigger.ALL_ENDED), ending=ending)


def on_forgotten(run: LocalRun) -> LocalRun:
    """The scheduler knows of its end."""
    return move(run, Trigger.FORGOTTEN)


def cancel(run: LocalRun) -> LocalRun:
    """End it before a rank of it was started: whatever ends it is acknowledged by not starting."""
    acknowledged = None if run.asked in (Signal.RUN, Signal.KILL) else run.asked
    ending = replace(
        run.ending,
        exit_code=None if run.has_fault else 0,
        forced=acknowledged is None and not run.has_fault,
    )
    notice = Notice(run.asked, run.notice.at, acknowledged)
    return replace(move(run, Trigger.CANCELLED), notice=notice, ending=ending)


def move(run: LocalRun, trigger: Trigger) -> LocalRun:
    """The run in the state that the table has for the trigger."""
    return replace(run, state=MACHINE.next(run.state, trigger))


def _later(one: float | None, other: float | None) -> float | None:
    """The later of two decisions (None = never): a desired set written before a verdict must not bring an old one back."""
    return None if one is None or other is None else max(one, other)


def _conclude(run: LocalRun) -> LocalRun:
    """The exit code is the first failure's: what follows it is only its echo in the gang."""
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
