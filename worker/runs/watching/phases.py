"""The phases of a run on its machine: spans of the experiment's trace, and the timeline of the trial's page.

A phase is reported when it ends; a restarted daemon does not know when a phase began and reports nothing.
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
"""Only checkpoints after the first that take longer are reported: trace and page must not grow with every epoch."""

MAX_DURATION_S = 7 * 86_400
LINGER_S = 0.5
"""Batching delay: the first phases of a run end soon after each other."""
RETRY_S = 2.0
BATCH_SIZE = 100
_SPANS: Mapping[PhaseKind, str] = {
    "prepare": "prepare run",
    "fetch_code": "fetch code",
    "make_environment": "make environment",
    "pull_image": "pull image",
    "restore_checkpoint": "restore checkpoint",
    "start": "start trial",
    "first_step": "make first step",
    "write_checkpoint": "write checkpoint",
    "upload_checkpoint": "upload checkpoint",
}
_log = structlog.get_logger()


class Phases:
    """Tracks the current phases of a run; the sender gets those that ended."""

    def __init__(self, run_id: RunId, trace: Mapping[str, str], clock: Clock, sender: "PhaseSender") -> None:
        self._run_id, self._trace, self._clock, self.sender = run_id, trace, clock, sender
        self._entering_at: datetime | None = None
        self._stepping_at: datetime | None = None

    @contextmanager
    def during(self, kind: PhaseKind) -> Iterator[dict[str, str]]:
        """Record a phase of the preparation, with the facts that are added to the yielded mapping; failed attempts appear only in the trace."""
        facts: dict[str, str] = {}
        began = self._clock.now()
        parent = self._trace if kind == "prepare" else None
        with telemetry.span(_SPANS[kind], parent=parent, run=self._run_id):
            yield facts
        self.sender.take(_phase(kind, began, self._clock.now()).model_copy(update=facts))

    def on_ranks_asked(self) -> None:
        """Record that the ranks are being started."""
        self._entering_at = self._clock.now()

    def on_entered(self) -> None:
        """Record that the script passed `muster.trial()`; in a gang, all ranks have met."""
        self._stepping_at = self._clock.now()
        if self._entering_at:
            self._record("start", self._entering_at, self._stepping_at)
            self._entering_at = None

    def on_reports(self) -> None:
        """Record a report of the script."""
        if self._stepping_at:
            self._record("first_step", self._stepping_at, self._clock.now())
            self._stepping_at = None

    def on_written(self, number: int, step: int, written_s: object) -> None:
        """Record a written checkpoint. User code reports the duration: invalid values are ignored."""
        if isinstance(written_s, int | float) and 0 <= written_s < MAX_DURATION_S:
            began = self._clock.now() - timedelta(seconds=written_s)
            self._record_if_long("write_checkpoint", began, number, step)

    def on_uploaded(self, number: int, step: int, announced_at: datetime | None) -> None:
        """Record that a checkpoint is settled."""
        if announced_at:
            self._record_if_long("upload_checkpoint", announced_at, number, step)

    def on_upload_waits(self, number: int, step: int, announced_at: datetime | None, reason: str) -> None:
        """Report an upload that fails and is retried; its end replaces this entry."""
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
    """Sends phases to the registry in batches. Phases that are unsent when the daemon ends are lost: they are informational."""

    def __init__(self, run_id: RunId, platform: PlatformConnection) -> None:
        self._run_id, self._platform = run_id, platform
        self._waiting: list[PhaseRecord] = []
        self._filled = asyncio.Event()
        self._is_refused = False

    @property
    def is_drained(self) -> bool:
        """Whether the registry has all phases or refuses them: nobody waits for an unavailable or older registry."""
        return not self._waiting or self._is_refused

    def take(self, phase: PhaseRecord) -> None:
        """Add a phase to the next batch; beyond the limit, new ones are dropped while the platform is unavailable."""
        key = phase.kind, phase.number
        self._waiting = [one for one in self._waiting if (one.kind, one.number) != key]
        if len(self._waiting) < BATCH_SIZE:
            self._waiting.append(phase)
            self._filled.set()

    async def run(self) -> None:
        """Send until cancelled."""
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
            _log.warning("the registry refused the phases of a run", run=str(self._run_id), error=str(error))
        self._is_refused = False
        self._waiting = [one for one in self._waiting if one not in phases]


def _phase(
    kind: PhaseKind, began: datetime, ended: datetime, number: int = 0, step: int | None = None
) -> PhaseRecord:
    began_ms, ended_ms = (max(0, int(at.timestamp() * 1000)) for at in (began, ended))
    return PhaseRecord(kind=kind, number=number, step=step, began_ms=began_ms, ended_ms=ended_ms)
