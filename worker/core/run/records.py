"""The records of one allocation on this machine: the request and the observed state. Neighbours: `reducers` update them."""

from dataclasses import dataclass
from typing import Literal

from shared.ids import AllocationId, RunId
from shared.messages.trial_specs import PolicyMatch, Signal
from worker.core.gang.assignment import Gang
from worker.core.run.states import LAUNCHED, OVER, RunState

Fault = Literal["user", "machine"]


@dataclass(frozen=True, slots=True)
class Request:
    """The requests of the scheduler and the searcher.

    Attributes:
        wanted: The signal of the newest desired set.
        decide_at: When the searcher decides next.
        verdict: The signal of the searcher's fast path; it holds until the desired set requests more.
        verdicts: Number of verdicts received by the fast path.
        dropped: Whether the newest desired set lacks the allocation: it has no right to slots here.
    """

    signal: Signal = Signal.RUN
    decide_at: float | None = None
    preemption_timeout_s: float = 3600.0
    verdict: Signal = Signal.RUN
    verdicts: int = 0
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """The request as last sent to the ranks.

    Attributes:
        signal: The signal that was sent to the ranks.
        at: When they were first asked to end (monotonic seconds); the preemption timeout starts then.
        acknowledged: The signal for which `should_stop()` answered True.
    """

    signal: Signal = Signal.RUN
    at: float | None = None
    acknowledged: Signal | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes of its ranks here.

    Attributes:
        births: For each local rank, the generation and the rank that its process was started with.
        confirmed: The generation that each local rank has confirmed.
        leaving: Processes that were asked to leave the gang.
    """

    births: tuple[tuple[int, int], ...] = ()
    confirmed: tuple[tuple[int, int], ...] = ()
    leaving: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Exits:
    """The exits of the local ranks.

    Attributes:
        codes: Exit codes of local ranks, by rank, in the order in which they ended.
        last_at: When the last of them ended (monotonic seconds).
        error: The last error of the first rank that failed, from its own output.
        starved: Whether the kernel killed that rank for lack of memory.
        invalid: Why a rank reported its hyperparameters as invalid.
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
    """How the run ends. A fault before the end is one without an exit code: a full disk, a silent scheduler, hung ranks.

    Attributes:
        fault: The party that caused the end (user or machine); None: neither.
        reason: The reason as text.
        kill_at: When SIGKILL follows SIGTERM (monotonic seconds); None: at once, or no kill is planned.
        counted: How many exits count for user code: those before the rest of a gang was killed here; None: all.
        forced: Whether user code was killed: dropped, killed, or preemption timeout exceeded.
        exit_code: The exit code of the run; None: it has not ended, or ended without one.
    """

    fault: Fault | None = None
    reason: str | None = None
    kill_at: float | None = None
    counted: int | None = None
    forced: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class LocalRun:
    """The state of one allocation here. `policies`: log policies that its local output matched."""

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
        """The current number of local ranks."""
        return len(self.ranks.births) or self.gang.assignment.ranks

    @property
    def asked(self) -> Signal:
        """The signal for the ranks: the desired set's, or else a faster verdict's."""
        wanted = self.request.signal
        return wanted if wanted is not Signal.RUN else self.request.verdict

    @property
    def has_launched(self) -> bool:
        """Whether ranks were started and not all have ended."""
        return self.state in LAUNCHED

    @property
    def is_over(self) -> bool:
        """Whether no process of the run lives or will be started."""
        return self.state in OVER

    @property
    def has_fault(self) -> bool:
        """Whether the run is being ended for a fault without an exit code."""
        return not self.is_over and self.ending.fault is not None

    @property
    def is_invalid(self) -> bool:
        """Whether it ended because its script reported its hyperparameters as invalid."""
        return self.is_over and self.ending.fault == "user" and self.exits.invalid is not None
