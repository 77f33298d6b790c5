"""Watches the ranks of one run on this machine: reads their signs of life, and looks at those that give none.

What a rank writes here it writes as its own user: links, pipes and other process's ids in it lead nowhere.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from muster.wire.heartbeat import (
    HEARTBEATS_FILE,
    RECORD_BYTES,
    Heartbeat,
    RankPhase,
    read_heartbeats,
    stacks_name,
)
from shared.messages.specs import SlotKind, TrialSpec
from worker.core.gang.assignment import RankAssignment
from worker.core.hang import (
    MOVING_ALONE,
    MOVING_IN_GANG,
    HangEvidence,
    HangTimeouts,
    RankSample,
    Silence,
    describe_hang,
    is_check_due,
    is_hung,
    measure_silence,
    on_check,
    stack_of,
)
from worker.executors.port import Processes
from worker.sandbox.safe_open import opened

NEVER = float("inf")
DUMP_BYTES = 64 * 1024
FRAMES = 20
"""So many of a rank's calls are shown."""


class HangWatch:
    """The watch over one run. What it saw is not kept: a daemon that was restarted looks anew."""

    def __init__(self, folder: Path, timeouts: HangTimeouts, is_cpu: bool, processes: Processes) -> None:
        """`is_cpu`: the ranks compute on processors. On others, waiting may keep a processor busy."""
        self._folder = folder
        self._timeouts = timeouts
        self._is_cpu = is_cpu
        self._processes = processes
        self._evidence = HangEvidence()
        self._read_to: dict[int, int] = {}
        self.hang: str | None = None
        """The reason to end the run for, at the last look; None where its ranks here do not hang."""

    def look(self, assignment: RankAssignment, sessions: Iterable[int], now: float) -> None:
        """See whether the ranks here hang. `sessions` are those of its ranks."""
        heartbeats = self._read_heartbeats(assignment.ranks, frozenset(sessions))
        silence = measure_silence(heartbeats.values(), self._timeouts)
        if silence is None:
            self._evidence, self.hang = HangEvidence(), None
            return
        if is_check_due(silence, self._evidence, now):
            moving = self._moving_processor(silence, assignment)
            self._evidence = on_check(self._evidence, self._sample(heartbeats), now, moving)
        self.hang = describe_hang(silence, now) if is_hung(silence, self._evidence, now) else None

    def stacks(self) -> Iterator[tuple[int, str]]:
        """Each local rank's number, and where it was last seen."""
        for local_rank, sample in sorted(self._evidence.samples.items()):
            frames = sample.stack.splitlines()[:FRAMES] if sample.stack else ["  (it did not answer)"]
            yield local_rank, "\n".join(frames)

    def _moving_processor(self, silence: Silence, assignment: RankAssignment) -> float:
        if assignment.size == 1:
            return MOVING_ALONE if self._is_cpu or silence.phase is not RankPhase.STEPPING else NEVER
        return MOVING_IN_GANG if self._is_cpu else NEVER

    def _read_heartbeats(self, ranks: int, sessions: frozenset[int]) -> dict[int, Heartbeat]:
        """The records, absent where the process in it is none of this run's."""
        data = b""
        with opened(self._folder / HEARTBEATS_FILE) as file:
            data = os.pread(file, ranks * RECORD_BYTES, 0) if file is not None else b""
        heartbeats = {}
        for rank, heartbeat in enumerate(read_heartbeats(data)):
            is_ours = (
                heartbeat.phase is not RankPhase.ABSENT
                and self._processes.session_of(heartbeat.pid) in sessions
            )
            heartbeats[rank] = heartbeat if is_ours else replace(heartbeat, phase=RankPhase.ABSENT)
        return heartbeats

    def _sample(self, heartbeats: Mapping[int, Heartbeat]) -> dict[int, RankSample]:
        """Look at each rank, and ask for its stacks: the next look finds them."""
        used_s = self._processes.used_s()
        samples = {}
        for rank, heartbeat in heartbeats.items():
            if heartbeat.phase is RankPhase.ABSENT:
                continue
            stack = stack_of(self._read_dump(rank), heartbeat.thread)
            samples[rank] = RankSample(stack, used_s.get(self._processes.session_of(heartbeat.pid), 0.0))
            self._processes.ask_stacks(heartbeat.pid)
        return samples

    def _read_dump(self, rank: int) -> str:
        """What the rank has written since the last look."""
        with opened(self._folder / stacks_name(rank)) as file:
            if file is None:
                return ""
            end = os.fstat(file).st_size
            start = max(self._read_to.get(rank, 0), end - DUMP_BYTES)
            self._read_to[rank] = end
            return os.pread(file, end - start, start).decode(errors="replace") if end > start else ""


def open_hang_watch(folder: Path, spec: TrialSpec, kind: SlotKind, processes: Processes) -> HangWatch:
    """The watch over a run on slots of a kind, as patient as its spec says."""
    return HangWatch(
        folder, HangTimeouts(spec.hang_timeout_s, spec.start_timeout_s), kind == "cpu", processes
    )


def make_heartbeat_file(folder: Path, ranks: int) -> None:
    """Make the file that ranks write their signs of life into, at its full size: a full disk then takes them too."""
    (folder / HEARTBEATS_FILE).write_bytes(bytes(ranks * RECORD_BYTES))
