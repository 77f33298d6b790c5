"""How a training lives through a change of its ranks, whatever its loop is: `muster.elastic.Training` and `muster.torch.Trainer` both do so by this."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from muster._trial.gang.reforming import open_reforming
from muster.elastic.state import copied, from_first
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster import Trial
    from muster._trial.gang.gang import RankGang

COMMIT_TIME_SHARE = 0.02
"""Of the time goes into the copies to which a broken gang goes back."""
MAX_FAILURES_WITHOUT_PROGRESS = 3
"""So often in a row a gang that has lost nobody may break without getting any further: then the fault is the script's."""


class Resizable(Protocol):
    """What a training must be able to do between two steps."""

    @property
    def number(self) -> int:
        """Steps taken so far."""

    def state_dict(self) -> dict[str, Any]:
        """All that its next step depends on and that is alike on all ranks."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""

    def drop_gradients(self) -> None:
        """Forget those of a step that was not finished, wherever they are."""

    def on_resized(self) -> None:
        """The ranks are others than before, and all have one state."""


class Resizing:
    """Brings rank 0's state to every rank that begins or joins, and to all that are left when one is lost.

    From its making on the run counts as one that can be resized while it trains, where it is elastic; so make it last before the first step.

    Attributes:
        formed: How often the gang has formed anew.
        is_put_off: This rank has joined others that are in a later loop, and does nothing with them before that one.

    Raises:
        Rejected: The trial has one already (`trained_twice`).
    """

    def __init__(self, trial: "Trial", training: Resizable) -> None:
        if trial._resizing is not None:
            raise Rejected(
                "trained_twice",
                "a Trainer, or a muster.elastic.Training, trains this trial already: ranks that come and go, and the checkpoint, are its",
                hint="call `fit` of the one Trainer again, which goes on where it came to",
            )
        trial._resizing = self
        self.formed = 0
        self._trial, self._training = trial, training
        self._commits = _Commits()
        self._has_joined = self._has_begun = False
        self._broke_in, self._in_vain = 0, 0
        self._put_off: Any = None
        trial._forming = self._forming = open_reforming(trial._surroundings)

    @property
    def is_put_off(self) -> bool:
        return self._put_off is not None

    def may_go_on(self) -> bool:
        """Say whether there may be another step, after the gang has formed anew where that is due. Collective, before each step.

        False: `trial.should_stop()` has said so; save, and return.
        """
        if self._put_off is not None:
            self._training.load_state_dict(self._put_off)
            self._put_off = None
            return True
        with self.step():
            # Who has just joined was not there when the others asked.
            if not self._has_joined and self._trial.should_stop():
                return False
            if self._forming and self._forming.is_due:
                self._join()
            elif not self._has_begun and self._trial._gang:
                self._share(self._trial._gang)
        self._has_joined, self._has_begun = False, True
        if self._forming and self._trial.rank == 0:
            self._commits.keep(self._training.state_dict)
        return True

    def put_off(self) -> None:
        """This rank has joined others that are in a later loop: the step that may be is that loop's first, from the state that is now.

        What its script does in between has been done by the others before.
        """
        self._put_off = copied(self._training.state_dict())

    def begin_anew(self) -> None:
        """Another loop begins: a rank that is lost in it costs nothing of the one before."""
        if self._forming and self._trial.rank == 0:
            self._commits = _Commits()
            self._commits.keep(self._training.state_dict)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Within it a broken gang is no error: what was done since rank 0's last copy is undone, by those that are left, or by all."""
        try:
            yield
        except _broken() as error:
            self._recover(error)

    def undo(self, error: BaseException) -> bool:
        """As `step` does where the error is a broken gang's; say whether it was."""
        if not isinstance(error, _broken()):
            return False
        self._recover(error)
        return True

    def _join(self) -> None:
        """The gang forms anew, and begins with one state."""
        assert self._forming is not None
        began = time.monotonic()
        self._training.drop_gradients()
        with self._trial._heart.busy():
            gang = self._forming.join()
        before, self._has_joined = self._trial.size, True
        self._trial._take_gang(gang)
        self._share(gang)
        self.formed += 1
        self._training.on_resized()
        if gang.rank == 0:
            ranks = "1 rank trains" if gang.size == 1 else f"{gang.size} ranks train"
            pause_s = time.monotonic() - began
            _say(
                f"{ranks} from step {self._training.number + 1} on, before it were {before}; the pause was {pause_s:.3f} s"
            )

    def _share(self, gang: "RankGang") -> None:
        """Rank 0's state is everybody's."""
        state = from_first(gang, self._training.state_dict() if gang.rank == 0 else None)
        if gang.rank != 0:
            self._training.load_state_dict(state)

    def _recover(self, error: BaseException) -> None:
        """The gang broke, by a lost rank or a lost connection: what is left of it goes on from rank 0's last copy.

        Raises `error` where the run cannot be resized, or the gang breaks again and again at one place although nobody is lost."""
        step, before = self._training.number + 1, self._trial.size
        if step > self._broke_in:
            self._broke_in, self._in_vain = step, 0
        no_copy = self._trial.rank == 0 and self._commits.last is None
        if self._forming is None or no_copy or self._in_vain >= MAX_FAILURES_WITHOUT_PROGRESS:
            raise error
        _say(f"the gang broke in step {step}; those that are left form anew")
        if self._trial._gang:
            self._trial._gang.leave()
        self._forming.on_broken()
        self._training.drop_gradients()
        if self._trial.rank == 0:
            # A copy of it: optimizers go on in the tensors that they load, and another rank may be lost before the next one.
            self._training.load_state_dict(copied(self._commits.last))
        try:
            self._join()
        except Rejected as untold:
            raise error from untold
        self._in_vain += self._trial.size == before


class _Commits:
    """Copies of the state in memory, as often as a fiftieth of the time allows."""

    def __init__(self) -> None:
        self.last: Any = None
        self._due_at = 0.0

    def keep(self, state: Callable[[], Any]) -> None:
        """Copies what `state()` returns, when it is time."""
        began = time.monotonic()
        if began < self._due_at and self.last is not None:
            return
        self.last = copied(state())
        ended = time.monotonic()
        self._due_at = ended + (ended - began) / COMMIT_TIME_SHARE


def _say(text: str) -> None:
    print(f"muster: {text}", file=sys.stderr, flush=True)


def _broken() -> type[BaseException]:
    """What a rank meets when another one is gone; without Horovod nothing is."""
    exceptions = sys.modules.get("horovod.common.exceptions")
    return exceptions.HorovodInternalError if exceptions else _NeverRaised


class _NeverRaised(BaseException):
    """Nobody raises it."""
