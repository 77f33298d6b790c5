"""`custom`: a driver program decides. It sends `Operation`s and reads events, which are entries of the journal.

Every operation is idempotent: a key names one trial for good, times only rise, and a stop is final. So a program that
does not know whether an operation arrived sends it again. This follows Determined's custom searchers (0.19 to 0.37),
but the program chooses the keys instead of storing ids.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from muster.config import Point
from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    FixedSizeMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)
from shared.errors import Conflict, Rejected


class OperationKind(StrEnum):
    """Kinds of operations that a driver program may send."""

    CREATE = "create"
    GO_ON = "go_on"
    STOP = "stop"
    PROGRESS = "progress"
    SHUTDOWN = "shutdown"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a driver program. The verb determines which fields count.

    Attributes:
        key: The program's name for the trial.
        point: For `create`: its hyperparameters; None lets the sampler choose them.
        until: For `create` and `go_on`: the time of the next decision; None lets the trial train to its end.
        source: For `create`: the key of the trial from whose newest checkpoint it starts.
        share: For `progress`: 0 to 1.
        reason: For `shutdown` and `fail`: shown to users.
    """

    verb: OperationKind
    key: str = ""
    point: Point | None = None
    until: float | None = None
    source: str | None = None
    share: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class OperationEffects:
    """Effects of operations.

    Attributes:
        starts: Trials to create. `withdrawn` are requested trials that are no longer wanted.
        resumed: Trials that continue, whether they are paused or running.
        stopped: Trials to stop.
        dropped: Keys of trials that end before they started.
    """

    starts: list[StartTrial] = field(default_factory=list)
    withdrawn: list[StartTrial] = field(default_factory=list)
    resumed: list[ResumeTrial] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _DrivenTrial:
    """A trial as its driver program sees it. `start` is its request while it waits to be created."""

    created: Operation
    start: StartTrial
    until: float | None
    trial: int | None = None
    is_undecided: bool = False
    is_over: bool = False


class Custom(FixedSizeMethod):
    """Trials by key, and the operations that apply to them."""

    def __init__(self, undecided: Literal["park", "train"]) -> None:
        self._parks = undecided == "park"
        self._runners: dict[str, _DrivenTrial] = {}
        self._keys: list[str] = []
        self._of_trial: dict[int, str] = {}
        self._share = 0.0
        self._is_shut_down = False

    @property
    def is_shut_down(self) -> bool:
        """Whether the driver program has shut the search down."""
        return self._is_shut_down

    def key_of(self, trial: int) -> str:
        """Return the driver program's name for a trial."""
        return self._of_trial[trial]

    def apply(self, operations: Iterable[Operation]) -> OperationEffects:
        """Apply operations in order.

        Raises:
            Rejected: An operation names a trial that was never created.
            Conflict: A key belongs to another trial, or the search was shut down.
        """
        effects = OperationEffects()
        for index, operation in enumerate(operations):
            self._take(operation, f"operations[{index}]", effects)
        return effects

    def named_by(self, operations: Sequence[Operation]) -> list[int]:
        """Return the trials that the operations affect. Shutdown and failure affect all trials that wait for a decision."""
        found = {self._runners[each.key].trial for each in operations if each.key in self._runners}
        if any(each.verb in (OperationKind.SHUTDOWN, OperationKind.FAIL) for each in operations):
            found |= {runner.trial for runner in self._runners.values() if runner.is_undecided}
        return sorted(trial for trial in found if trial is not None)

    def plan_start(self) -> list[SearchStep]:
        return []

    def on_created(self, trial: int, branch: Branch) -> float | None:
        key = self._keys[branch]
        self._runners[key].trial = trial
        self._of_trial[trial] = key
        return self._runners[key].until

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Let the trial wait for the driver program at its time; after a shutdown it ends there."""
        runner = self._runner(trial)
        if runner.is_over or runner.is_undecided or runner.until is None:
            return NO_DECISION
        if time < runner.until:
            return replace(NO_DECISION, decide_at=runner.until)
        if self._is_shut_down:
            runner.is_over = True
            return RungDecision(counted=True, stop=True, reached_max_time=True, decide_at=None)
        runner.is_undecided = True
        return RungDecision(
            counted=True, stop=False, reached_max_time=False, decide_at=None, pause=self._parks
        )

    def on_parked(self, trial: int) -> list[SearchStep]:
        return []

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        self._runner(trial).is_over = True
        return []

    def plan_more(self, count: int) -> list[StartTrial]:
        return []

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        return []

    def reopen(self, planned: int) -> list[SearchStep]:
        """Return the requested trials that have not been created yet."""
        runners = self._runners.values()
        return [runner.start for runner in runners if runner.trial is None and not runner.is_over]

    def progress(self) -> float:
        """Return the progress that the driver program reported."""
        return self._share

    def planned(self) -> int:
        return len(self._keys)

    def _runner(self, trial: int) -> _DrivenTrial:
        return self._runners[self._of_trial[trial]]

    def _take(self, operation: Operation, place: str, effects: OperationEffects) -> None:
        match operation.verb:
            case OperationKind.CREATE:
                self._create(operation, place, effects)
            case OperationKind.GO_ON:
                self._resume(self._named(operation.key, f"{place}.key"), operation.until, effects)
            case OperationKind.STOP:
                self._stop(self._named(operation.key, f"{place}.key"), effects)
            case OperationKind.PROGRESS:
                self._share = max(self._share, operation.share or 0.0)
            case OperationKind.SHUTDOWN | OperationKind.FAIL:
                self._shut_down(effects)

    def _create(self, operation: Operation, place: str, effects: OperationEffects) -> None:
        known = self._runners.get(operation.key)
        if known is not None:
            if known.created != operation:
                raise Conflict(
                    "key_taken",
                    f"the key {operation.key!r} already belongs to another trial",
                    f"{place}.key",
                    "use a new key",
                )
            return
        if self._is_shut_down:
            raise Conflict("search_shut_down", "the search was shut down and accepts no more trials", place)
        source = None
        if operation.source is not None:
            source = self._named(operation.source, f"{place}.source").trial
            if source is None:
                raise Conflict(
                    "source_not_begun",
                    f"trial {operation.source!r} has not started yet and cannot be copied",
                    f"{place}.source",
                )
        start = StartTrial(branch=len(self._keys), point=operation.point, source=source)
        self._keys.append(operation.key)
        self._runners[operation.key] = _DrivenTrial(operation, start, operation.until)
        effects.starts.append(start)

    def _resume(self, runner: _DrivenTrial, until: float | None, effects: OperationEffects) -> None:
        if runner.is_over or runner.until is None or (until is not None and until <= runner.until):
            return
        runner.until, runner.is_undecided = until, False
        if runner.trial is not None:
            effects.resumed.append(ResumeTrial(runner.trial, until))

    def _stop(self, runner: _DrivenTrial, effects: OperationEffects) -> None:
        if runner.is_over:
            return
        runner.is_over = True
        if runner.trial is not None:
            effects.stopped.append(runner.trial)
            return
        effects.dropped.append(runner.created.key)
        if runner.start in effects.starts:
            effects.starts.remove(runner.start)
        else:
            effects.withdrawn.append(runner.start)

    def _shut_down(self, effects: OperationEffects) -> None:
        """Keep requested trials, and stop those that wait for a decision."""
        self._is_shut_down = True
        for runner in self._runners.values():
            if runner.is_undecided:
                self._stop(runner, effects)

    def _named(self, key: str, place: str) -> _DrivenTrial:
        runner = self._runners.get(key)
        if runner is None:
            raise Rejected("unknown_key", f"no trial was created with the key {key!r}", place)
        return runner
