"""The phases of a run on its machine, as spans of the experiment's trace: a site engineer sees where a slow one spent its time.

What has lasted is told when it is over; a daemon that was restarted in between does not know when it began, and tells nothing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from shared import telemetry
from shared.clock import Clock
from shared.ids import RunId

LONG = timedelta(seconds=1)
"""Of a run's later checkpoints only those that took so long are told: a trace is not to grow with every epoch."""

MOST_S = 7 * 86_400


class Phases:
    """What of a run has begun and not ended."""

    def __init__(self, run_id: RunId, trace: Mapping[str, str], clock: Clock) -> None:
        self._run_id, self._trace, self._clock = run_id, trace, clock
        self._entering_at: datetime | None = None
        self._stepping_at: datetime | None = None

    def on_ranks_asked(self) -> None:
        """Its ranks are being started."""
        self._entering_at = self._clock.now()

    def on_entered(self) -> None:
        """Its script is past `muster.trial()`, of a gang: all have met."""
        self._stepping_at = self._clock.now()
        if self._entering_at:
            self._tell("start trial", self._entering_at, self._stepping_at)
            self._entering_at = None

    def on_reports(self) -> None:
        """Its script has reported."""
        if self._stepping_at:
            self._tell("make first step", self._stepping_at, self._clock.now())
            self._stepping_at = None

    def on_written(self, number: int, step: int, written_s: object) -> None:
        """Its ranks have written a checkpoint. How long it took is user code's to say: nonsense is not told."""
        if isinstance(written_s, int | float) and 0 <= written_s < MOST_S:
            began = self._clock.now() - timedelta(seconds=written_s)
            self._tell_long("write checkpoint", began, number, step)

    def on_uploaded(self, number: int, step: int, announced_at: datetime | None) -> None:
        """A checkpoint that was announced then is settled."""
        if announced_at:
            self._tell_long("upload checkpoint", announced_at, number, step)

    def _tell_long(self, name: str, began: datetime, number: int, step: int) -> None:
        now = self._clock.now()
        if number == 1 or now - began >= LONG:
            self._tell(name, began, now, number=number, step=step)

    def _tell(self, name: str, began: datetime, ended: datetime, **facts: int) -> None:
        telemetry.record(name, began, ended, parent=self._trace, run=self._run_id, **facts)
