"""One allocation on this machine: what is asked of it, and what was seen of it. Neighbours: `reducers` make the next one of it."""

from dataclasses import dataclass
from typing import Literal

from shared.ids import AllocationId, RunId
from shared.messages.specs import PolicyMatch, Signal
from worker.core.gang.assignment import Gang
from worker.core.run.states import LAUNCHED, OVER, RunState

Fault = Literal["user", "machine"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the scheduler and the searcher ask.

    Attributes:
        wanted: What the newest desired set asks.
        decide_at: When the searcher decides next.
        verdict: What the searcher's fast path asked; it stands until the desired set asks more.
        verdicts: How many came by the fast path.
        dropped: Whether the newest desired set does not name it: it has no right to slots here.
    """

    wanted: Signal = Signal.RUN
    decide_at: float | None = None
    preemption_timeout_s: float = 3600.0
    verdict: Signal = Signal.RUN
    verdicts: int = 0
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """What the ranks were told of it.

    Attributes:
        signal: The signal that they know.
        at: When they were first told to end (monotonic seconds); the preemption timeout counts from it.
        acknowledged: The signal for which `should_stop()` answered True.
    """

    signal: Signal = Signal.RUN
    at: float | None = None
    acknowledged: Signal | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes of its ranks here.

    Attributes:
        births: Of each local rank, the generation and the rank for which its process was started.
        seated: The generation in which each local rank trains, as far as it has reported it.
        leaving: Processes that were told to leave the gang.
    """

    births: tuple[tuple[int, int], ...] = ()
    confirmed: tuple[tuple[int, int], ...] = ()
    leaving: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Exits:
    """How its ranks here ended.

    Attributes:
        codes: Exit codes of local ranks, by rank, in the order in which they ended.
        last_at: When the last of them ended (monotonic seconds).
        said: The error that the first rank that failed ended with, as it named it itself.
        starved: Whether the kernel killed that rank for lack of memory.
        invalid: Why a rank called its hyperparameters invalid.
    """

    codes: tuple[tuple[int, int], ...] = ()
    last_at: float | None = None
    error: str = ""
    starved: bool = False
    invalid: str | None = None

    @property
    def have_failed(self) -> bool:
        """Whether a rank ended with a failure."""
        return any(code != 0 for _, code in self.codes)


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ends. Before it is over, a fault is one that no exit code tells: a full disk, silence of the scheduler, ranks that hang.

    Attributes:
        fault: Whose fault its end is; None: nobody's.
        reason: The end in words.
        kill_at: When what a SIGTERM has not ended is killed (monotonic seconds); None: at once, or not at all.
        counted: How many exits say something about user code: those before the rest of a gang was killed here; None: all.
        forced: Whether the end was forced on user code: dropped, killed, or out of its preemption timeout.
        exit_code: What its processes ended with; None: it is not over, or no code tells its end.
    """

    fault: Fault | None = None
    reason: str | None = None
    kill_at: float | None = None
    counted: int | None = None
    forced: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class LocalRun:
    """The state of one allocation here. `policies`: log policies that its output here has met."""

    allocation_id: AllocationId
    run_id: RunId
    token: int
    gang: Gang
    state: RunState = RunState.PREPARING
    request: Request = Request()
    notice: Notice = Notice()
    ranks: Ranks = Ranks()
    exits: Exits = Exits()
    ending: Ending = Ending()
    policies: tuple[PolicyMatch, ...] = ()

    @property
    def local_ranks(self) -> int:
        """How many ranks it has here now."""
        return len(self.ranks.births) or self.gang.assignment.ranks

    @property
    def asked(self) -> Signal:
        """What is asked of the ranks now: the desired set first, then a verdict that was quicker."""
        wanted = self.request.wanted
        return wanted if wanted is not Signal.RUN else self.request.verdict

    @property
    def has_launched(self) -> bool:
        """Whether ranks of it were started, and have not all ended."""
        return self.state in LAUNCHED

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs and nothing will."""
        return self.state in OVER

    @property
    def has_fault(self) -> bool:
        """Whether it is ended here for what no exit code tells."""
        return not self.is_over and self.ending.fault is not None

    @property
    def is_invalid(self) -> bool:
        """Whether it has ended because its script calls its hyperparameters invalid."""
        return self.is_over and self.ending.fault == "user" and self.exits.invalid is not None
