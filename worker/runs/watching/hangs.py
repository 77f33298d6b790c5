"""Watches the local ranks of one run: reads their heartbeats, and samples silent ranks.

Ranks write these files as their own user: links, pipes and foreign process ids in them are ignored.
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
from shared.messages.trial_specs import SlotKind, TrialSpec
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
from worker.executors.interface import Processes
from worker.sandbox.trial_files import opened

NEVER = float("inf")
DUMP_BYTES = 64 * 1024
FRAMES = 20
"""Number of stack frames shown per rank."""


class HangWatch:
    """Detects hangs of one run. Samples are not persisted: a restarted daemon starts over."""

    def __init__(self, folder: Path, timeouts: HangTimeouts, is_cpu: bool, processes: Processes) -> None:
        """`is_cpu`: the ranks compute on CPUs. With GPUs, waiting may keep a CPU busy."""
        self._folder = folder
        self._timeouts = timeouts
        self._is_cpu = is_cpu
        self._processes = processes
        self._evidence = HangEvidence()
        self._read_to: dict[int, int] = {}
        self.hang: str | None = None
        """The reason to end the run, at the last check; None if its local ranks do not hang."""

    def look(self, assignment: RankAssignment, sessions: Iterable[int], now: float) -> None:
        """Check whether the local ranks hang. `sessions`: those of its ranks."""
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
        """Yield each local rank's number and last stack."""
        for local_rank, sample in sorted(self._evidence.samples.items()):
            frames = sample.stack.splitlines()[:FRAMES] if sample.stack else ["  (no stack available)"]
            yield local_rank, "\n".join(frames)

    def _moving_processor(self, silence: Silence, assignment: RankAssignment) -> float:
        if assignment.size == 1:
            return MOVING_ALONE if self._is_cpu or silence.phase is not RankPhase.STEPPING else NEVER
        return MOVING_IN_GANG if self._is_cpu else NEVER

    def _read_heartbeats(self, ranks: int, sessions: frozenset[int]) -> dict[int, Heartbeat]:
        """Return the heartbeats with the machine's process numbers; ABSENT if the process in one is not of this run."""
        data = b""
        with opened(self._folder, HEARTBEATS_FILE) as file:
            data = os.pread(file, ranks * RECORD_BYTES, 0) if file is not None else b""
        heartbeats = {}
        for rank, heartbeat in enumerate(read_heartbeats(data)):
            pid = 0
            if heartbeat.phase is not RankPhase.ABSENT:
                pid = self._processes.find(heartbeat.pid, sessions)
            phase = heartbeat.phase if pid else RankPhase.ABSENT
            heartbeats[rank] = replace(heartbeat, pid=pid, phase=phase)
        return heartbeats

    def _sample(self, heartbeats: Mapping[int, Heartbeat]) -> dict[int, RankSample]:
        """Sample each rank, and request its stacks: the next sample reads them."""
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
        """Return the stacks that the rank wrote since the last check."""
        with opened(self._folder, stacks_name(rank)) as file:
            if file is None:
                return ""
            end = os.fstat(file).st_size
            start = max(self._read_to.get(rank, 0), end - DUMP_BYTES)
            self._read_to[rank] = end
            return os.pread(file, end - start, start).decode(errors="replace") if end > start else ""


def open_hang_watch(folder: Path, spec: TrialSpec, kind: SlotKind, processes: Processes) -> HangWatch:
    """Create the watch of a run on slots of a kind, with the timeouts of its spec."""
    return HangWatch(
        folder, HangTimeouts(spec.hang_timeout_s, spec.start_timeout_s), kind == "cpu", processes
    )


def make_heartbeat_file(folder: Path, ranks: int) -> None:
    """Create the ranks' heartbeat file at full size, so that it can be written on a full disk."""
    (folder / HEARTBEATS_FILE).write_bytes(bytes(ranks * RECORD_BYTES))
