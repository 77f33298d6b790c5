"""Output files of ranks into the logs' journal, each line once, with rank, stream, time and level."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from shared.clock import Clock
from shared.messages.reports import LogLine
from worker.core.lines import Level, cut_lines, guess_level
from worker.journal import Journal

POLL_S = 0.25
READ_BYTES = 128 * 1024
READS_PER_POLL = 4
"""What a running trial prints beyond 2 MB/s waits in its file: logs must not starve reports."""
WARNINGS = 20
"""So many different warnings of a run are told; a run that is odd at every step must not fill its log with them."""
_log = structlog.get_logger()

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a rank writes."""

    path: Path
    rank: int
    stream: Stream

    @property
    def key(self) -> str:
        """Its name among the offsets."""
        return f"{self.rank}.{self.stream}"


class LogTail:
    """Reads outputs into a journal. How far it read is kept with the journal's number, so that a crash repeats no line."""

    def __init__(
        self,
        journal: Journal,
        offsets_path: Path,
        outputs: Sequence[Output],
        clock: Clock,
        on_lines: Callable[[], None],
    ) -> None:
        self._journal = journal
        self._offsets_path = offsets_path
        self._outputs = outputs
        self._clock = clock
        self._on_lines = on_lines
        self._offsets = self._load_offsets()
        self._is_full = False
        self._ending = asyncio.Event()
        self._last_words: tuple[str, ...] = ()
        self._warnings: list[str] = []
        self.is_done = False

    async def run(self) -> None:
        """Follow the outputs until `end` was called and all is read. A full disk is waited for: the files keep it."""
        while not self.is_done:
            is_last = self._ending.is_set()
            more = [self._read_some(output, is_last) for output in self._outputs]
            if is_last and any(more) and not self._is_full:
                await asyncio.sleep(0)
                continue
            if is_last and not self._is_full:
                self._finish()
                return
            try:
                async with asyncio.timeout(POLL_S):
                    await self._ending.wait()
            except TimeoutError:
                continue
            if self._is_full:
                await asyncio.sleep(POLL_S)

    def end(self, last_words: tuple[str, ...] = ()) -> None:
        """Nothing more is written: read the rest, also a line without an end, then add these lines of the platform's own."""
        self._last_words = last_words
        self._ending.set()

    def say(self, text: str, level: Level = "info") -> None:
        """A line of the platform's own in the trial's log."""
        self._append([self._record(0, "platform", level, text)])

    def warn(self, text: str) -> None:
        """A warning, said once now and once more at the log's end, where people look."""
        if text not in self._warnings and len(self._warnings) < WARNINGS:
            self._warnings.append(text)
            self.say(text, "warning")

    def _finish(self) -> None:
        for text in self._warnings:
            self.say(text, "warning")
        for text in self._last_words:
            self.say(text, "error")
        self.is_done = True

    def _read_some(self, output: Output, is_last: bool) -> bool:
        """Whether there is more to read."""
        return all(self._read_output(output, is_last) for _ in range(READS_PER_POLL))

    def _read_output(self, output: Output, is_last: bool) -> bool:
        """Whether there may be more."""
        offset = self._offsets.get(output.key, 0)
        try:
            if output.path.stat().st_size <= offset:
                return False
            with output.path.open("rb") as source:
                source.seek(offset)
                data = source.read(READ_BYTES)
        except OSError:
            return False
        cut = cut_lines(data, is_last and len(data) < READ_BYTES)
        if not cut.lines:
            return False
        after = offset + cut.consumed
        records = [self._record(output.rank, output.stream, guess_level(line), line) for line in cut.lines]
        # The newest record of a read says how far it went: the offsets' file may be older by one read.
        records[-1] = records[-1][:-1] + b',"at":' + json.dumps([output.key, after]).encode() + b"}"
        if not self._append(records):
            return False
        self._offsets[output.key] = after
        self._save_offsets()
        return len(data) == READ_BYTES

    def _record(
        self, rank: int, stream: Literal["stdout", "stderr", "platform"], level: Level | None, text: str
    ) -> bytes:
        now_ms = int(self._clock.now().timestamp() * 1000)
        line = LogLine(rank=rank, stream=stream, level=level, time_ms=now_ms, text=text)
        return line.__pydantic_serializer__.to_json(line)

    def _append(self, records: Iterable[bytes]) -> bool:
        try:
            self._journal.append([(record, 0) for record in records])
        except OSError as error:
            if not self._is_full:
                _log.error("logs cannot be journaled", error=str(error))
            self._is_full = True
            return False
        self._is_full = False
        self._on_lines()
        return True

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
        with suppress(OSError):
            temporary.write_text(json.dumps({"offsets": self._offsets, "number": self._journal.last}))
            temporary.replace(self._offsets_path)
