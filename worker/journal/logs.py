"""Output of ranks into the logs' journal, each line once, with rank, stream, time and level. Neighbour: `outputs` reads the files."""

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
from worker.core.lines import Level, cut_lines, find_error, guess_level
from worker.journal.journal import Journal
from worker.journal.outputs import Output, OutputReader, Stream

POLL_S = 0.25
READS_PER_POLL = 4
"""What a running trial prints beyond 2 MB/s waits in its file: logs must not starve reports."""
BACKLOG_BYTES = 64 * 1024 * 1024
"""So much of what the registry has not committed is journaled at most; what is printed beyond waits in its file too, not there and here and
numbered in memory."""
WARNINGS = 20
"""So many different warnings of a run are told; a run that is odd at every step must not fill its log with them."""
REMARK_EVERY = timedelta(minutes=10)
MAX_PENDING_LINES = 200
"""So many lines of the platform's own wait for room on a full disk."""
_KEEPING = "keeping the trial's output; it waits in its files"


@dataclass(frozen=True, slots=True)
class TailEvents:
    """Who is told: of each line of a rank, before it is journaled (a crash between repeats it), and that there are new ones."""

    on_line: Callable[[int, str], None]
    on_journaled: Callable[[], None]


class LogTail:
    """Reads outputs into a journal. How far it read is kept with the journal's number, so that a crash repeats no line."""

    def __init__(
        self,
        journal: Journal,
        offsets_path: Path,
        outputs: Sequence[Output],
        clock: Clock,
        events: TailEvents,
    ) -> None:
        self._journal = journal
        self._offsets_path = offsets_path
        self._clock = clock
        self._events = events
        offsets = self._load_offsets()
        self._readers = [OutputReader(output, offsets.get(output.key, 0)) for output in outputs]
        self._outages = Outages()
        self._pending: deque[bytes] = deque(maxlen=MAX_PENDING_LINES)
        self._ending = asyncio.Event()
        self._final_lines: tuple[str, ...] = ()
        self._warnings: list[str] = []
        self._remarks: dict[str, datetime] = {}
        self.is_done = False

    def follow(self, outputs: Iterable[Output]) -> None:
        """Follow more: ranks that have come later. A file that an earlier rank of the same number wrote goes on."""
        known = {reader.output.key for reader in self._readers}
        self._readers += [OutputReader(output, 0) for output in outputs if output.key not in known]
        self.make_files()

    def make_files(self) -> None:
        """Make the outputs, so that a rank finds its own also when the disk has no room for a new file."""
        for reader in self._readers:
            reader.output.path.touch()

    def last_error(self, rank: int) -> str:
        """The error that a rank's last traceback names; empty without one."""
        return find_error(self._end_of(rank))

    def invalid_reason(self, rank: int) -> str | None:
        """Why a rank calls its hyperparameters invalid; None where it does not."""
        return read_invalid(self._end_of(rank))

    def look_ahead(self, rank: int) -> None:
        """Look through what a rank that has ended wrote last: what is told of it counts for how its end is judged."""
        for reader in self._readers:
            if reader.output.rank == rank:
                for line in cut_lines(reader.rest(), is_last=True).lines:
                    self._events.on_line(rank, line)

    async def run(self) -> None:
        """Follow the outputs until `end` was called and all is read. A full disk is waited for: the files keep it."""
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
        """Nothing more is written: read the rest, also a line without an end, then add these lines of the platform's own."""
        self._final_lines = final_lines
        self._ending.set()

    def log(self, text: str, level: Level = "info") -> None:
        """A line of the platform's own in the trial's log."""
        self._pending.append(self._record(0, "platform", level, text))
        with suppress(OSError):  # it is said when there is room
            self._write_pending()

    def warn_rate_limited(self, text: str) -> None:
        """A warning of what passes and costs nothing, said at most once in ten minutes."""
        now = self._clock.now()
        last_at = self._remarks.get(text)
        if last_at is None or now - last_at > REMARK_EVERY:
            self._remarks[text] = now
            self.log(text, "warning")

    def warn(self, text: str) -> None:
        """A warning, said once now and once more at the log's end, where people look."""
        if text not in self._warnings and len(self._warnings) < WARNINGS:
            self._warnings.append(text)
            self.log(text, "warning")

    def _end_of(self, rank: int) -> bytes:
        """The last that a rank wrote to stderr."""
        tails = (reader.last() for reader in self._readers if reader.output.key == f"{rank}.stderr")
        return next(tails, b"")

    def _finish(self) -> None:
        """The last lines; done when they are written too."""
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
        """Whether there is more to read. Others have their turn after each read: a rank that prints a gigabyte must not silence its worker."""
        for _ in range(READS_PER_POLL):
            if self._is_behind():
                return True
            if not self._read(reader, is_last):
                return False
            await asyncio.sleep(0)
        return True

    def _read(self, reader: OutputReader, is_last: bool) -> bool:
        """Whether there may be more."""
        now, output = self._clock.monotonic(), reader.output
        cut, has_more = reader.read(now, is_last)
        for line in cut.lines:
            self._events.on_line(output.rank, line)
        if cut.lines:
            records = [
                self._record(output.rank, output.stream, guess_level(line), line) for line in cut.lines
            ]
            # The newest record of a read says how far it went: the offsets' file may be older by one read.
            at = json.dumps([output.key, reader.offset + cut.consumed]).encode()
            records[-1] = records[-1][:-1] + b',"at":' + at + b"}"
            self._append(records)
        reader.take(cut, now)
        if cut.lines:
            self._save_offsets()
        return has_more and cut.consumed > 0

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
        kept: dict[str, int] = {}
        number = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(self._offsets_path.read_text())
            kept, number = dict(content["offsets"]), int(content["number"])
        for payload in self._journal.read_after(number):
            with suppress(ValueError, TypeError):
                key, after = json.loads(payload).get("at") or ("", 0)
                kept[key] = max(after, kept.get(key, 0))
        return kept

    def _save_offsets(self) -> None:
        temporary = self._offsets_path.with_suffix(".new")
        offsets = {reader.output.key: reader.offset for reader in self._readers}
        with suppress(OSError):
            temporary.write_text(json.dumps({"offsets": offsets, "number": self._journal.last}))
            temporary.replace(self._offsets_path)
