"""Copies the output of ranks into the log journal, each line once, with rank, stream, time and level. Neighbour: `output_reader` reads the files."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from muster.wire import read_invalid
from shared.clock import Clock
from shared.messages.reports import LogLine
from shared.runtime.outages import Outages
from worker.core.line_splitter import Cut, Level, cut_lines, find_error, guess_level
from worker.core.masking import NO_SECRETS, Mask
from worker.journal.journal import Journal
from worker.journal.output_reader import Output, OutputReader, Stream
from worker.sandbox.accounts import Account
from worker.sandbox.trial_files import TrialFile, create_trial_file

POLL_S = 0.25
READS_PER_POLL = 4
"""Limits a rank's output to 2 MB/s; the rest waits in its file: logs must not delay reports."""
BACKLOG_BYTES = 64 * 1024 * 1024
"""Maximum size of uncommitted log records; further output waits in its file instead of being stored twice and
indexed in memory."""
WARNINGS = 20
"""Maximum number of distinct warnings per run: a run that warns at every step must not fill its log."""
REMARK_EVERY = timedelta(minutes=10)
MAX_PENDING_LINES = 200
"""Maximum number of the worker's own lines that wait for space on a full disk."""
_KEEPING = "storing the trial's output; it waits in its files"


@dataclass(frozen=True, slots=True)
class TailEvents:
    """Callbacks: for each line of a rank before it is journaled (repeated after a crash in between), and after new records."""

    on_line: Callable[[int, str], None]
    on_journaled: Callable[[], None]


class LogTail:
    """Copies outputs into a journal. Read positions are stored with the journal's number, so that a crash repeats no line."""

    def __init__(
        self,
        journal: Journal,
        offsets_path: Path,
        outputs: Sequence[Output],
        clock: Clock,
        events: TailEvents,
        mask: Callable[[], Mask] = lambda: NO_SECRETS,
    ) -> None:
        self._journal = journal
        self._offsets_path = offsets_path
        self._clock = clock
        self._events = events
        self._mask = mask
        offsets = self._load_offsets()
        self._readers = [OutputReader(output, offsets.get(output.key, 0), mask) for output in outputs]
        self._outages = Outages()
        self._pending: deque[bytes] = deque(maxlen=MAX_PENDING_LINES)
        self._ending = asyncio.Event()
        self._final_lines: tuple[str, ...] = ()
        self._warnings: list[str] = []
        self._remarks: dict[str, datetime] = {}
        self.is_done = False

    def follow(self, outputs: Iterable[Output], account: Account | None) -> None:
        """Follow the outputs of additional ranks. A file of an earlier rank with the same number is continued."""
        known = {reader.output.key for reader in self._readers}
        added = [OutputReader(output, 0, self._mask) for output in outputs if output.key not in known]
        self._readers += added
        for reader in added:
            try:
                _create(reader.output, account)
            except OSError as error:  # a running training must not end for this
                self.warn(f"the output file of rank {reader.output.rank} could not be created: {error}")

    def make_files(self, account: Account | None) -> None:
        """Create the output files, so that a rank can write even if the disk has no space for new files."""
        for reader in self._readers:
            _create(reader.output, account)

    def last_error(self, rank: int) -> str:
        """Return the error of a rank's last traceback; empty without one."""
        return self._mask().hide_in_line(find_error(self._end_of(rank)))

    def invalid_reason(self, rank: int) -> str | None:
        """Return why a rank reported its hyperparameters as invalid; None if it did not."""
        return read_invalid(self._end_of(rank))

    def look_ahead(self, rank: int) -> None:
        """Scan the last output of a rank that has ended: log policies matched there affect how its exit is judged."""
        for reader in self._readers:
            if reader.output.rank == rank:
                for line in self._hidden(cut_lines(reader.rest(), is_last=True)):
                    self._events.on_line(rank, line)

    async def run(self) -> None:
        """Follow the outputs until `end` was called and everything is read. On a full disk, wait: the files keep the output."""
        while not self.is_done:
            is_last = self._ending.is_set()
            try:
                self._write_pending()
                has_more = [await self._read_some(reader, is_last) for reader in self._readers]
                self._outages.worked(_KEEPING)
            except OSError as error:
                self._outages.failed(_KEEPING, error)
                await asyncio.sleep(POLL_S)
                continue
            if self._is_behind():
                await asyncio.sleep(POLL_S)
            elif not is_last:
                await self._pause()
            elif not any(has_more):
                self._finish()

    def _is_behind(self) -> bool:
        return self._journal.backlog_bytes > BACKLOG_BYTES

    def end(self, final_lines: tuple[str, ...] = ()) -> None:
        """Read the remaining output, including an unfinished line, then add these lines of the worker."""
        self._final_lines = final_lines
        self._ending.set()

    def log(self, text: str, level: Level = "info") -> None:
        """Write a line of the worker into the trial's log."""
        self._pending.append(self._record(0, "platform", level, text))
        with suppress(OSError):  # written once the disk has space
            self._write_pending()

    def warn_rate_limited(self, text: str) -> None:
        """Write a warning about a temporary condition, at most once in ten minutes."""
        now = self._clock.now()
        last_at = self._remarks.get(text)
        if last_at is None or now - last_at > REMARK_EVERY:
            self._remarks[text] = now
            self.log(text, "warning")

    def warn(self, text: str) -> None:
        """Write a warning now, and once more at the log's end, where users look."""
        if text not in self._warnings and len(self._warnings) < WARNINGS:
            self._warnings.append(text)
            self.log(text, "warning")

    def _end_of(self, rank: int) -> bytes:
        """Return the end of a rank's stderr."""
        tails = (reader.last() for reader in self._readers if reader.output.key == f"{rank}.stderr")
        return next(tails, b"")

    def _finish(self) -> None:
        """Write the final lines; done once they are on disk."""
        warnings, self._warnings = self._warnings, []
        final_lines, self._final_lines = self._final_lines, ()
        for text in warnings:
            self.log(text, "warning")
        for text in final_lines:
            self.log(text, "error")
        self.is_done = not self._pending

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._ending.wait()

    def _write_pending(self) -> None:
        if self._pending:
            self._append(self._pending)
            self._pending.clear()

    async def _read_some(self, reader: OutputReader, is_last: bool) -> bool:
        """Return whether there is more to read. Yield to other tasks after each read: a rank that prints a gigabyte must not block its worker."""
        for _ in range(READS_PER_POLL):
            if self._is_behind():
                return True
            if not self._read(reader, is_last):
                return False
            await asyncio.sleep(0)
        return True

    def _read(self, reader: OutputReader, is_last: bool) -> bool:
        """Return whether there may be more to read."""
        now, output = self._clock.monotonic(), reader.output
        cut, has_more = reader.read(now, is_last)
        lines = self._hidden(cut)
        for line in lines:
            self._events.on_line(output.rank, line)
        if lines:
            records = [self._record(output.rank, output.stream, guess_level(line), line) for line in lines]
            # The last record of a read stores the position: the offsets file may be older by one read.
            at = json.dumps([output.key, reader.offset + cut.consumed]).encode()
            records[-1] = records[-1][:-1] + b',"at":' + at + b"}"
            self._append(records)
        reader.take(cut, now)
        if cut.lines:
            self._save_offsets()
        return has_more and cut.consumed > 0

    def _hidden(self, cut: Cut) -> list[str]:
        """Return the lines without secrets that only appear once colours are removed, or that span several lines."""
        mask = self._mask()
        return [mask.hide_in_line(line) for line in cut.lines]

    def _record(
        self, rank: int, stream: Stream | Literal["platform"], level: Level | None, text: str
    ) -> bytes:
        now_ms = int(self._clock.now().timestamp() * 1000)
        line = LogLine(rank=rank, stream=stream, level=level, time_ms=now_ms, text=text)
        return line.__pydantic_serializer__.to_json(line)

    def _append(self, records: Iterable[bytes]) -> None:
        self._journal.append([(record, 0) for record in records])
        self._events.on_journaled()

    def _load_offsets(self) -> dict[str, int]:
        offsets_by_key: dict[str, int] = {}
        number = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(self._offsets_path.read_text())
            offsets_by_key, number = dict(content["offsets"]), int(content["number"])
        for payload in self._journal.read_after(number):
            with suppress(ValueError, TypeError):
                key, after = json.loads(payload).get("at") or ("", 0)
                offsets_by_key[key] = max(after, offsets_by_key.get(key, 0))
        return offsets_by_key

    def _save_offsets(self) -> None:
        temporary = self._offsets_path.with_suffix(".new")
        offsets = {reader.output.key: reader.offset for reader in self._readers}
        with suppress(OSError):
            temporary.write_text(json.dumps({"offsets": offsets, "number": self._journal.last}))
            temporary.replace(self._offsets_path)


def _create(output: Output, account: Account | None) -> None:
    create_trial_file(TrialFile(output.path.parent, output.path.name), account)
