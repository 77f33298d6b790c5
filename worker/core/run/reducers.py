"""One allocation on this machine: what is wanted, what was seen, and what each change makes of it. Pure."""

from dataclasses import dataclass, field, replace
from typing import Literal

from shared.ids import AllocationId, RunId
from shared.messages.specs import PolicyMatch, Signal
from worker.core.gang.seats import Formation, Seat
from worker.core.memory import KILLED, lack_of_memory
from worker.core.run.states import MACHINE, RunState, Trigger

Fault = Literal["user", "machine"]

_KILLED = -9


@dataclass(frozen=True, slots=True)
class Cause:
    """What is known of a rank's end beside its exit code: the error that it named, and whether the kernel has just killed for lack of
    memory."""

    said: str = ""
    starved: bool = False


UNKNOWN = Cause()


@dataclass(frozen=True, slots=True)
class LocalRun:
    """The state of one allocation here.

    Attributes:
        wanted: What the newest desired set asks.
        verdict: What the searcher's fast path asked; it stands until the desired set says more.
        verdicts: How many came by the fast path.
        told: The signal the ranks know.
        asked_at: When the ranks were first told to end (monotonic seconds); the preemption timeout counts from it.
        rendezvous: Where Horovod's ranks meet: opened here by the chief, else copied from the desired set.
        exits: Exit codes of local ranks, by rank, in the order they ended.
        counted: How many exits say something about user code: those before the rest of a gang was ended here.
        doomed: Whether it is ended here for what no exit code tells (full disk, no scheduler for too long, ranks that hang).
        kill_at: When what a SIGTERM has not ended is killed (monotonic seconds); None: at once, or not at all.
        said: The error that the first rank that failed ended with, as it named it itself.
        starved: Whether the kernel killed that rank for lack of memory.
        invalid: Why a rank called its hyperparameters invalid.
        policies: Log policies that its output here has met.
        forced: Whether the end was forced on user code: dropped, killed, or out of its preemption timeout.
        formation: The gang that its ranks are to form next, while they train in the one that `seat` belongs to (see `resize`).
        stands_by: Whether its ranks were started to join a gang that trains already.
        births: Of each local rank, the generation and the rank for which its process was started.
        leaving: Processes that were told to leave the gang.
        seated: The generation in which each local rank trains, as far as it has said so.
    """

    allocation_id: AllocationId
    run_id: RunId
    token: int
    generation: int
    seat: Seat
    preemption_timeout_s: float
    state: RunState = RunState.ABSENT
    wanted: Signal = Signal.RUN
    verdict: Signal = Signal.RUN
    verdicts: int = 0
    decide_at: float | None = None
    told: Signal = Signal.RUN
    asked_at: float | None = None
    rendezvous: str | None = None
    rendezvous_asked: bool = False
    ranks_asked: bool = False
    dropped: bool = False
    kill_sent: bool = False
    counted: int | None = None
    forced: bool = False
    doomed: bool = False
    kill_at: float | None = None
    acknowledged: Signal | None = None
    exits: tuple[tuple[int, int], ...] = ()
    said: str = ""
    starved: bool = False
    last_exit_at: float | None = None
    exit_code: int | None = None
    fault: Fault | None = None
    reason: str | None = None
    invalid: str | None = None
    policies: tuple[PolicyMatch, ...] = ()
    formation: Formation | None = None
    stands_by: bool = False
    births: tuple[tuple[int, int], ...] = ()
    leaving: frozenset[str] = frozenset()
    seated: tuple[tuple[int, int], ...] = ()

    @property
    def ranks(self) -> int:
        """How many ranks it has here now."""
        return len(self.births) or self.seat.ranks

    @property
    def next_seat(self) -> Seat:
        """This worker's part of the gang that is being formed, or else of the one there is."""
        return self.formation.seat if self.formation and self.formation.seat else self.seat

    @property
    def asked(self) -> Signal:
        """What is asked of the ranks now: the desired set first, then a verdict that was quicker."""
        return self.wanted if self.wanted is not Signal.RUN else self.verdict

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs and nothing will."""
        return self.state is RunState.EXITED

    @property
    def is_invalid(self) -> bool:
        """Whether it has ended because its script calls its hyperparameters invalid."""
        return self.is_over and self.fault == "user" and self.invalid is not None


@dataclass(frozen=True, slots=True)
class Change:
    """What the desired set says of an allocation that is already known."""

    generation: int
    wanted: Signal
    decide_at: float | None
    rendezvous: str | None
    preemption_timeout_s: float = field(default=3600.0)


def on_desired(run: LocalRun, change: Change) -> LocalRun:
    """Take over the newest wish. A chief keeps the rendezvous it opened itself."""
    rendezvous = run.rendezvous if run.seat.is_chief else change.rendezvous or run.rendezvous
    formation = run.formation
    if formation is not None and change.rendezvous and change.generation == formation.generation:
        formation = replace(formation, may_go=True)
    state = MACHINE.next(run.state, Trigger.DESIRED)
    return replace(
        run,
        state=state,
        generation=max(run.generation, change.generation),
        wanted=change.wanted,
        decide_at=_later(run.decide_at, change.decide_at) if run.verdicts else change.decide_at,
        rendezvous=rendezvous,
        formation=formation,
        preemption_timeout_s=change.preemption_timeout_s,
        dropped=False,
    )


def on_dropped(run: LocalRun) -> LocalRun:
    """The desired set does not name it: it has no right to slots here."""
    return replace(run, dropped=True)


def on_verdict(run: LocalRun, signal: Signal, decide_at: float | None) -> LocalRun:
    """The searcher decided. A stop or pause stays, whatever an older desired set says."""
    verdict = run.verdict if signal is Signal.RUN else signal
    return replace(run, verdict=verdict, decide_at=decide_at, verdicts=run.verdicts + 1)


def on_fetched(run: LocalRun) -> LocalRun:
    """Code and checkpoint lie on this machine."""
    if run.is_over:
        return run
    return replace(run, state=MACHINE.next(run.state, Trigger.FETCHED))


def on_failed(run: LocalRun, trigger: Trigger, fault: Fault, reason: str) -> LocalRun:
    """It could not be fetched or started."""
    if run.is_over:
        return run
    return replace(run, state=MACHINE.next(run.state, trigger), fault=fault, reason=reason)


def on_rendezvous(run: LocalRun, address: str) -> LocalRun:
    """The chief's rendezvous is open."""
    return replace(run, rendezvous=address)


def on_started(run: LocalRun) -> LocalRun:
    """All local ranks were forked."""
    return replace(run, state=MACHINE.next(run.state, Trigger.STARTED))


def on_acknowledged(run: LocalRun, signal: Signal) -> LocalRun:
    """`should_stop()` answered True."""
    return replace(run, acknowledged=signal)


def on_exit(run: LocalRun, rank: int, code: int, now: float, cause: Cause = UNKNOWN) -> LocalRun:
    """A local rank ended; the last one ends the run here."""
    if any(rank == seen for seen, _ in run.exits):
        return run
    is_first_failure = code != 0 and all(earlier == 0 for _, earlier in run.exits)
    exits = (*run.exits, (rank, code))
    ended = replace(run, exits=exits, last_exit_at=now)
    if is_first_failure:
        ended = replace(ended, said=cause.said, starved=cause.starved and code == _KILLED)
    if len(exits) < run.ranks:
        return ended
    return _conclude(ended)


def on_invalid(run: LocalRun, reason: str | None) -> LocalRun:
    """A rank that is ending calls the hyperparameters invalid; one that says no reason has only chosen that exit code."""
    return run if run.is_over or reason is None else replace(run, invalid=reason)


def on_policies(run: LocalRun, met: tuple[PolicyMatch, ...]) -> LocalRun:
    """Its output met log policies; each counts once."""
    news = tuple(match for match in met if match not in run.policies)
    return replace(run, policies=(*run.policies, *news)) if news else run


def on_doomed(run: LocalRun, reason: str, fault: Fault = "machine", kill_at: float | None = None) -> LocalRun:
    """It cannot go on here, and is ended: at no cost to the user, but where its own code is at fault. Until `kill_at` it may end by itself."""
    if run.is_over or run.doomed:
        return run
    return replace(run, doomed=True, fault=fault, reason=reason, kill_at=kill_at)


def on_parent_lost(run: LocalRun) -> LocalRun:
    """The warm parent died and its ranks with it, unless they never started."""
    if run.is_over or not run.ranks_asked:
        return replace(run, rendezvous_asked=False, rendezvous=None if run.seat.is_chief else run.rendezvous)
    reason = "the process that holds the ranks of this machine died"
    return replace(run, state=_ended(run.state), fault="machine", reason=reason)


def _later(one: float | None, other: float | None) -> float | None:
    """The later of two decisions (None = never): a desired set written before a verdict must not bring an old one back."""
    return None if one is None or other is None else max(one, other)


def _conclude(run: LocalRun) -> LocalRun:
    """The exit code is the first failure's: what follows it is only its echo in the gang."""
    code = next((code for _, code in run.exits[: run.counted] if code != 0), 0)
    fault: Fault | None = run.fault
    reason = run.reason
    if code and not run.forced and fault is None:
        fault = "user"
        reason = (
            describe_exit(code, run.said, run.starved)
            if run.invalid is None
            else describe_invalid(run.invalid)
        )
    exit_code = None if fault == "machine" or run.doomed else code
    return replace(run, state=_ended(run.state), exit_code=exit_code, fault=fault, reason=reason)


def describe_exit(code: int, said: str = "", starved: bool = False) -> str:
    """An exit code in words, with the error that the rank named last; lack of memory is told apart."""
    if code == _KILLED:
        return KILLED if starved else "a process of the trial was killed (signal 9)"
    if code < 0:
        return f"a process of the trial was ended by signal {-code}"
    named = f" ({said})" if said else ""
    if code == 127:
        return f"the entrypoint was not found: exit code 127{named}: see its log"
    if lack := lack_of_memory(said):
        return f"{lack}{named}: see its log"
    return f"the trial's code ended with exit code {code}{named}: see its log"


def describe_invalid(reason: str) -> str:
    """What a script said of its hyperparameters, as the reason of an end."""
    return f"the trial's code calls its hyperparameters invalid: {reason}"


def describe_full_disk(said: str, own: str) -> str:
    """Which disk was full when a rank failed for one: the worker's (`own` says so), or another that its code writes to.

    `said` is the error that the rank named, perhaps cut off.
    """
    _, found, words = said.partition("] ")
    if not found or own.startswith(words):
        return own
    return f"the trial's code met a full disk: {words}"


def _ended(state: RunState) -> RunState:
    return MACHINE.next(state, Trigger.ALL_ENDED)
