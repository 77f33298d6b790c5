"""The phases of a run on its machine: spans of the experiment's trace, and what its trial's page shows along time.

What has lasted is told when it is over; a daemon that was restarted in between does not know when it began, and tells nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog

from muster.errors import MusterError, Transient
from shared import telemetry
from shared.clock import Clock
from shared.ids import RunId
from shared.messages.phases import REASON_CHARACTERS, PhaseKind, PhaseRecord, ReportPhases
from worker.connection.platform_connection import PlatformConnection

LONG = timedelta(seconds=1)
"""Of a run's later checkpoints only those that took so long are told: neither trace nor page is to grow with every epoch."""

MAX_DURATION_S = 7 * 86_400
LINGER_S = 0.5
"""The first phases of a run end soon after each other."""
RETRY_S = 2.0
BATCH_SIZE = 100
_SPANS: Mapping[PhaseKind, str] = {
    "prepare": "prepare run",
    "fetch_code": "fetch code",
    "make_environment": "make environment",
    "restore_checkpoint": "restore checkpoint",
    "start": "start trial",
    "first_step": "make first step",
    "write_checkpoint": "write checkpoint",
    "upload_checkpoint": "upload checkpoint",
}
_log = structlog.get_logger()


class Phases:
    """What of a run has begun and not ended; the sender takes what has."""

    def __init__(self, run_id: RunId, trace: Mapping[str, str], clock: Clock, sender: "PhaseSender") -> None:
        self._run_id, self._trace, self._clock, self.sender = run_id, trace, clock, sender
        self._entering_at: datetime | None = None
        self._stepping_at: datetime | None = None

    @contextmanager
    def during(self, kind: PhaseKind) -> Iterator[None]:
        """Around a phase of getting ready; one that fails is begun again, and only the trace has it."""
        began = self._clock.now()
        parent = self._trace if kind == "prepare" else None
        with telemetry.span(_SPANS[kind], parent=parent, run=self._run_id):
            yield
        self.sender.take(_phase(kind, began, self._clock.now()))

    def on_ranks_asked(self) -> None:
        """Its ranks are being started."""
        self._entering_at = self._clock.now()

    def on_entered(self) -> None:
        """Its script is past `muster.trial()`, of a gang: all have met."""
        self._stepping_at = self._clock.now()
        if self._entering_at:
            self._record("start", self._entering_at, self._stepping_at)
            self._entering_at = None

    def on_reports(self) -> None:
        """Its script has reported."""
        if self._stepping_at:
            self._record("first_step", self._stepping_at, self._clock.now())
            self._stepping_at = None

    def on_written(self, number: int, step: int, written_s: object) -> None:
        """Its ranks have written a checkpoint. How long it took is user code's to say: nonsense is not told."""
        if isinstance(written_s, int | float) and 0 <= written_s < MAX_DURATION_S:
            began = self._clock.now() - timedelta(seconds=written_s)
            self._record_if_long("write_checkpoint", began, number, step)

    def on_uploaded(self, number: int, step: int, announced_at: datetime | None) -> None:
        """A checkpoint that was announced then is settled."""
        if announced_at:
            self._record_if_long("upload_checkpoint", announced_at, number, step)

    def on_upload_waits(self, number: int, step: int, announced_at: datetime | None, reason: str) -> None:
        """Its upload fails and is tried again; the end, once it comes, replaces this."""
        now = self._clock.now()
        open_phase = _phase("upload_checkpoint", announced_at or now, now, number=number, step=step)
        self.sender.take(open_phase.model_copy(update={"waits_for": reason[:REASON_CHARACTERS]}))

    def _record_if_long(self, kind: PhaseKind, began: datetime, number: int, step: int) -> None:
        now = self._clock.now()
        if number == 1 or now - began >= LONG:
            self._record(kind, began, now, number=number, step=step)

    def _record(self, kind: PhaseKind, began: datetime, ended: datetime, **facts: int) -> None:
        telemetry.record(_SPANS[kind], began, ended, parent=self._trace, run=self._run_id, **facts)
        self.sender.take(_phase(kind, began, ended, **facts))


class PhaseSender:
    """Brings phases to the registry, those that end soon after each other together. What was not sent when a daemon ended is lost: they are for people to look at."""

    def __init__(self, run_id: RunId, platform: PlatformConnection) -> None:
        self._run_id, self._platform = run_id, platform
        self._waiting: list[PhaseRecord] = []
        self._filled = asyncio.Event()
        self._is_refused = False

    @property
    def is_drained(self) -> bool:
        """Whether the registry has been told all, or does not listen: nobody waits for one that is away, or of a version before."""
        return not self._waiting or self._is_refused

    def take(self, phase: PhaseRecord) -> None:
        """It goes with the next ones; of very many that wait for a platform that is away, the last are left out."""
        key = phase.kind, phase.number
        self._waiting = [one for one in self._waiting if (one.kind, one.number) != key]
        if len(self._waiting) < BATCH_SIZE:
            self._waiting.append(phase)
            self._filled.set()

    async def run(self) -> None:
        """Send for ever."""
        while True:
            await self._filled.wait()
            await asyncio.sleep(LINGER_S)
            self._filled.clear()
            while self._waiting:
                await self._send(tuple(self._waiting))

    async def _send(self, phases: tuple[PhaseRecord, ...]) -> None:
        try:
            await self._platform.request(ReportPhases(run_id=self._run_id, phases=phases))
        except Transient as error:
            self._is_refused = True
            await asyncio.sleep(max(RETRY_S, error.retry_after_s))
            return
        except MusterError as error:
            _log.warning("phases of a run were not taken", run=str(self._run_id), error=str(error))
        self._is_refused = False
        self._waiting = [one for one in self._waiting if one not in phases]


def _phase(
    kind: PhaseKind, began: datetime, ended: datetime, number: int = 0, step: int | None = None
) -> PhaseRecord:
    began_ms, ended_ms = (max(0, int(at.timestamp() * 1000)) for at in (began, ended))
    return PhaseRecord(kind=kind, number=number, step=step, began_ms=began_ms, ended_ms=ended_ms)
