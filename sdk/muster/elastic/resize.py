"""Resizing of a training, independent of its loop; used by `muster.elastic.Training` and `muster.torch.Trainer`."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from muster._trial.gang.reforming import open_reforming
from muster.elastic.state_sync import copied, from_first
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster import Trial
    from muster._trial.gang.gang import RankGang

COMMIT_TIME_SHARE = 0.02
"""Maximum share of time spent on in-memory copies of the state."""
MAX_FAILURES_WITHOUT_PROGRESS = 3
"""Consecutive breaks at one step without a lost rank after which the script is considered faulty."""


class Resizable(Protocol):
    """Operations of a training between two steps."""

    @property
    def number(self) -> int:
        """Number of steps taken."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state that the next step depends on and that all ranks share."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from this state."""

    def drop_gradients(self) -> None:
        """Discard the gradients of an unfinished step."""

    def on_resized(self) -> None:
        """Adapt to the new ranks; all ranks have the same state."""


class Resizing:
    """Distributes rank 0's state to ranks that start or join, and to the remaining ranks when one is lost.

    After its creation, an elastic run can be resized while it trains; create it last before the first step.

    Attributes:
        formed: How often the gang has re-formed.
        is_put_off: Whether this rank has joined ranks in a later loop, and skips steps until that loop.

    Raises:
        Rejected: The trial already has one (`trained_twice`).
    """

    def __init__(self, trial: "Trial", training: Resizable) -> None:
        if trial._resizing is not None:
            raise Rejected(
                "trained_twice",
                "this trial is already trained by a Trainer or a muster.elastic.Training, which owns resizing and the checkpoint",
                hint="call `fit` of the existing Trainer again; it continues where it stopped",
            )
        trial._resizing = self
        self.formed = 0
        self._trial, self._training = trial, training
        self._commits = _Commits()
        self._has_joined = self._has_started = False
        self._broke_in, self._failures = 0, 0
        self._deferred_state: Any = None
        trial._reforming = self._reforming = open_reforming(trial._environment)

    @property
    def is_deferred(self) -> bool:
        return self._deferred_state is not None

    def may_go_on(self) -> bool:
        """Return whether there is another step, after re-forming the gang if due. Collective, before each step.

        False means that `trial.should_stop()` is True: save and return.
        """
        if self._deferred_state is not None:
            self._training.load_state_dict(self._deferred_state)
            self._deferred_state = None
            return True
        with self.step():
            # A rank that has just joined did not take part in the other ranks' synchronization.
            if not self._has_joined and self._trial.should_stop():
                return False
            if self._reforming and self._reforming.is_due:
                self._join()
            elif not self._has_started and self._trial._gang:
                self._share(self._trial._gang)
        self._has_joined, self._has_started = False, True
        if self._reforming and self._trial.rank == 0:
            self._commits.keep(self._training.state_dict)
        return True

    def put_off(self) -> None:
        """Defer: this rank joined ranks in a later loop, so the next step is that loop's first, from the current state.

        The other ranks have already done the script's work in between.
        """
        self._deferred_state = copied(self._training.state_dict())

    def restart(self) -> None:
        """Start another loop: the loss of a rank in it does not undo the previous loop."""
        if self._reforming and self._trial.rank == 0:
            self._commits = _Commits()
            self._commits.keep(self._training.state_dict)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Handle a broken gang within the block: undo everything since rank 0's last copy on the remaining ranks."""
        try:
            yield
        except _broken() as error:
            self._recover(error)

    def undo(self, error: BaseException) -> bool:
        """Handle the error of a broken gang as `step` does; return whether it was one."""
        if not isinstance(error, _broken()):
            return False
        self._recover(error)
        return True

    def _join(self) -> None:
        """Re-form the gang, and start from one state."""
        assert self._reforming is not None
        began = time.monotonic()
        self._training.drop_gradients()
        with self._trial._heartbeat.busy():
            gang = self._reforming.join()
        before, self._has_joined = self._trial.size, True
        self._trial._take_gang(gang)
        self._share(gang)
        self.formed += 1
        self._training.on_resized()
        if gang.rank == 0:
            ranks = "1 rank trains" if gang.size == 1 else f"{gang.size} ranks train"
            pause_s = time.monotonic() - began
            _log(
                f"{ranks} from step {self._training.number + 1} (before: {before}); the pause was {pause_s:.3f} s"
            )

    def _share(self, gang: "RankGang") -> None:
        """Distribute rank 0's state to all ranks."""
        state = from_first(gang, self._training.state_dict() if gang.rank == 0 else None)
        if gang.rank != 0:
            self._training.load_state_dict(state)

    def _recover(self, error: BaseException) -> None:
        """Continue from rank 0's last copy after the gang broke by a lost rank or connection.

        Raises `error` if the run cannot be resized, or the gang breaks repeatedly at one step without a lost rank.
        """
        step, before = self._training.number + 1, self._trial.size
        if step > self._broke_in:
            self._broke_in, self._failures = step, 0
        no_copy = self._trial.rank == 0 and self._commits.last is None
        if self._reforming is None or no_copy or self._failures >= MAX_FAILURES_WITHOUT_PROGRESS:
            raise error
        _log(f"the gang broke in step {step}; the remaining ranks re-form")
        if self._trial._gang:
            self._trial._gang.leave()
        self._reforming.on_broken()
        self._training.drop_gradients()
        if self._trial.rank == 0:
            # Copied, because optimizers modify the tensors that they load, and another rank may be lost before the next copy.
            self._training.load_state_dict(copied(self._commits.last))
        try:
            self._join()
        except Rejected as untold:
            raise error from untold
        self._failures += self._trial.size == before


class _Commits:
    """Copies of the state in memory, limited to a fiftieth of the time."""

    def __init__(self) -> None:
        self.last: Any = None
        self._due_at = 0.0

    def keep(self, state: Callable[[], Any]) -> None:
        """Copy the result of `state()` if due."""
        began = time.monotonic()
        if began < self._due_at and self.last is not None:
            return
        self.last = copied(state())
        ended = time.monotonic()
        self._due_at = ended + (ended - began) / COMMIT_TIME_SHARE


def _log(text: str) -> None:
    print(f"muster: {text}", file=sys.stderr, flush=True)


def _broken() -> type[BaseException]:
    """Return the exception that a rank gets when another rank is lost; without Horovod, one that is never raised."""
    exceptions = sys.modules.get("horovod.common.exceptions")
    return exceptions.HorovodInternalError if exceptions else _NeverRaised


class _NeverRaised(BaseException):
    """Never raised."""
