"""The session of one run with its rank 0: reports into the journal, signals and verdicts to the rank.

The worker reads when the bell rings, and once more shortly after the last ring: a busy rank wakes it twice a
second, and no data stays unread. Frames that a full disk rejects are held in memory, not acknowledged, and
retried; the rest stays in the rank's socket, so that a rank that keeps reporting blocks.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import ValidationError

from muster import wire
from muster.errors import Rejected
from shared.runtime import faults
from worker.journal.journal import Journal
from worker.ranks.elastic_connections import ElasticConnections
from worker.ranks.records import last_step, make_record, read_frames
from worker.ranks.send_buffer import SendBuffer
from worker.ranks.step_meter import StepMeter

AFTER_JOURNAL = faults.register("worker.after_journal")
LOOK_AGAIN_S = 1.2 * wire.POLL_S
TRY_AGAIN_S = 0.5
"""Retry interval on a full disk."""
MAX_READS = 8
MAX_CHECKPOINTS = 10**9
"""A higher number is no checkpoint's, and might be too long for the name of a file."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """Callbacks for a rank's frames."""

    on_reports: Callable[[bool], None]
    on_checkpoint: Callable[[wire.CheckpointFrame], None]
    on_acknowledged: Callable[[str], None]
    on_started: Callable[[], None]
    on_cut: Callable[[str], None]
    on_disk_fault: Callable[[OSError], None]


class RankSession:
    """A session lives as long as its run is known here; its rank may reconnect.

    Attributes:
        validations: Number of validations reported.
        step: The step of the newest report.
        elastic, step_meter: The connections and the step time of an elastic run.
        checkpoints: Number of the newest announced checkpoint.
        settled: Number of the newest checkpoint that the registry has decided on, and the duration until then.
        signal: The current signal for the ranks.
        decide_at: Time of the next decision.
        decided: Number of the newest validation with a verdict.
    """

    def __init__(
        self, journal: Journal, events: SessionEvents, checkpoints: int, elastic: ElasticConnections
    ) -> None:
        self._journal = journal
        self._events = events
        self._data: socket.socket | None = None
        self._send_buffer: SendBuffer | None = None
        self._bell: socket.socket | None = None
        self._decoder = wire.Decoder(wire.RANK_FRAMES)
        self._look_again: asyncio.TimerHandle | None = None
        self._held: list[wire.Frame] = []
        self._broken = False
        self.validations = journal.tag
        self.step = last_step(journal)
        self.elastic, self.step_meter = elastic, StepMeter()
        self.checkpoints = checkpoints
        self.settled = (0, 0.0)
        self.signal = "run"
        self.decide_at: float | None = None
        self.decided = 0

    def attach(self, connection: socket.socket, decoder: wire.Decoder) -> None:
        """Attach the rank's data connection; it replaces an earlier one."""
        self._drop_data()
        self._data, self._decoder, self._send_buffer = connection, decoder, SendBuffer(connection)
        self._send(self._welcome())
        asyncio.get_running_loop().call_soon(self.read)

    def attach_bell(self, connection: socket.socket) -> None:
        """Attach the rank's bell connection."""
        self._drop_bell()
        self._bell = connection
        with suppress(OSError):
            connection.send(wire.encode(self._welcome()))
        asyncio.get_running_loop().add_reader(connection, self._on_bell)

    def send_signal(self, signal: str) -> None:
        """Send a signal to the ranks."""
        self.signal = signal
        self._send(wire.Signalled(signal))

    def decide(self, validation: int, signal: str, decide_at: float | None) -> None:
        """Send a verdict, or a new `decide_at` of the desired set."""
        self.signal, self.decide_at = signal, decide_at
        self.decided = max(self.decided, validation)
        self._send(wire.Decided(self.decided, signal, decide_at))

    def settle(self, checkpoint: int, after_s: float) -> None:
        """Record the registry's decision on a checkpoint and its duration; a small checkpoint may overtake a large one."""
        self.settled = max(self.settled, (checkpoint, after_s))
        self._send_progress()

    def read(self) -> None:
        """Read and process all available data."""
        if not self._broken and self._take_held() and self._data is not None:
            self._receive(self._data)

    def _receive(self, connection: socket.socket) -> None:
        frames: list[wire.Frame] = []
        try:
            for _ in range(MAX_READS):
                data = connection.recv(256 * 1024)
                if not data:
                    self._drop_data()
                    break
                frames += self._decoder.feed(data)
            else:
                # The rank sends faster than we read: let other tasks run in between.
                asyncio.get_running_loop().call_soon(self.read)
        except BlockingIOError:
            pass
        except (OSError, Rejected) as error:
            _log.warning("a rank's connection ended", error=str(error))
            self._drop_data()
        self._take(frames)

    def finish(self, unsent: Path) -> bool:
        """Process the rest of a dead rank's socket and its unsent frames. Return False on a full disk: call again."""
        self._take_held()
        while self._data is not None and not self._broken and not self._held:
            self.read()
            if not self._has_more():
                break
        if not self._held:
            self._take(read_frames(unsent))
        if self._held:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Close the session."""
        self._held.clear()
        self.elastic.close()
        self._drop_data()
        self._drop_bell()

    def _has_more(self) -> bool:
        if self._data is None:
            return False
        try:
            return bool(self._data.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def _on_bell(self) -> None:
        assert self._bell is not None
        try:
            if not self._bell.recv(4096):
                self._drop_bell()
        except BlockingIOError:
            pass
        except OSError:
            self._drop_bell()
        self.read()
        self._look_in(LOOK_AGAIN_S)

    def _look_in(self, wait_s: float) -> None:
        if self._look_again is not None:
            self._look_again.cancel()
        self._look_again = asyncio.get_running_loop().call_later(wait_s, self._on_look_again)

    def _on_look_again(self) -> None:
        self._look_again = None
        self.read()

    def _take_held(self) -> bool:
        """Retry the held frames; return whether the disk took them."""
        held, self._held = self._held, []
        self._take(held)
        return not self._held

    def _take(self, frames: list[wire.Frame]) -> None:
        """Journal the reports of the frames, then act on all frames in order."""
        if not frames:
            return
        done = 0
        try:
            points = [frame for frame in frames if isinstance(frame, wire.ReportFrame)]
            if points and not self._journal_points(points):
                return
            for frame in frames:
                self._act(frame)
                done += 1
        except OSError as error:
            self._on_disk_fault(frames[done:], error)
        except Exception as error:  # noqa: BLE001 - whatever a rank sends must not end the worker
            _log.warning("a frame of a rank could not be processed", exc_info=error)
            self._break("a frame cannot be processed")
        self._send_progress()

    def _send_progress(self) -> None:
        self._send(wire.Journaled(self._journal.last, self.checkpoints, *self.settled))

    def _act(self, frame: wire.Frame) -> None:
        match frame:
            case wire.CheckpointFrame() if frame.number > MAX_CHECKPOINTS:
                self._break("a checkpoint's number is too high")
            case wire.CheckpointFrame() if frame.number > self.checkpoints:
                self._events.on_checkpoint(frame)
                self.checkpoints = frame.number
            case wire.Acknowledge():
                self._events.on_acknowledged(frame.signal)
            case wire.StepMeasurements():
                self.step_meter.on_measured(frame)
            case wire.Started():
                self._events.on_started()

    def _on_disk_fault(self, left: list[wire.Frame], error: OSError) -> None:
        """Hold the remaining frames and retry later; a broken disk (not a full one) ends the run."""
        if wire.is_disk_full(error):
            self._held = left
            self._look_in(TRY_AGAIN_S)
        else:
            self._broken = True
        self._events.on_disk_fault(error)

    def _journal_points(self, points: list[wire.ReportFrame]) -> bool:
        """Append new points to the journal; False if the rank broke the protocol. Raises OSError on disk errors."""
        records: list[tuple[bytes, int]] = []
        validations, step, expected = self.validations, self.step, self._journal.last + 1
        for point in points:
            if point.number < expected:
                continue  # sent again after a reconnection
            if point.number > expected:
                return self._break("a report is missing")
            expected += 1
            validations += 1 if point.validation else 0
            step = point.step
            try:
                record, loss = make_record(point, validations)
            except ValidationError as error:
                return self._break(f"a report cannot be read: {error.error_count()} faults")
            if loss:
                self._events.on_cut(loss)
            records.append((record, validations))
        if records:
            self._journal.append(records)
            faults.point(AFTER_JOURNAL)
        self.validations, self.step = validations, step
        self.step_meter.on_report(step, points[-1].time_ms)
        if records:
            self._events.on_reports(any(point.decision for point in points))
        return True

    def _break(self, reason: str) -> bool:
        _log.warning("a rank broke the protocol", reason=reason)
        self._send(wire.ConnectionRefused(reason))
        self._drop_data()
        return False

    def _welcome(self) -> wire.Welcome:
        return wire.Welcome(
            reports=self._journal.last,
            validations=self.validations,
            checkpoints=self.checkpoints,
            decided=self.decided,
            signal=self.signal,
            decide_at=self.decide_at,
        )

    def _send(self, frame: wire.Frame) -> None:
        if self._send_buffer and not self._send_buffer.send(frame):
            self._drop_data()

    def _drop_data(self) -> None:
        if self._data is not None and self._send_buffer is not None:
            self._send_buffer.close()
            self._data.close()
            self._data = self._send_buffer = None

    def _drop_bell(self) -> None:
        if self._bell is not None:
            asyncio.get_running_loop().remove_reader(self._bell)
            self._bell.close()
            self._bell = None
