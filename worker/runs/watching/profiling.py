"""Samples a profiled run periodically, from the daemon, at no cost to the ranks. The samples are sent like reports.

A run without profiling has no journal, source or samples of this kind.
"""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.wire.timing import TIMING_BYTES, TIMINGS, ProfilingRange, Timing, read_profiled, read_timings
from shared.clock import Clock
from shared.messages.reports import Report
from worker.connection.platform_connection import PlatformConnection
from worker.core.resource_usage import Usage, interval_s, named_for, system_values, timing_values
from worker.executors.interface import Processes
from worker.journal.journal import Journal
from worker.journal.journal_sender import Source
from worker.journal.run_senders import profile_sender
from worker.machine.gpu_utilization import Gpus
from worker.paths import RunPaths
from worker.ranks.launch.trial_file import spec_of
from worker.sandbox.trial_files import opened
from worker.store.records import StoredRun


@dataclass(frozen=True, slots=True)
class ProfileSources:
    """The sources of samples."""

    processes: Processes
    gpus: Gpus
    clock: Clock


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """The run to sample: the sessions of its local processes, rank 0's last reported step, the number of local ranks, the index of this
    machine in the gang, and its slots."""

    sessions: Collection[int]
    step: int
    ranks: int
    node: int
    slots: Sequence[int]


class Profile:
    """The profile of one run. It is not persisted: after a restart of the daemon it starts with a new reference sample.

    Attributes:
        source: Sends its journal to the registry.
    """

    def __init__(
        self, steps: ProfilingRange, watch: Path, journal: Journal, source: Source, sources: ProfileSources
    ) -> None:
        self._steps, self._watch = steps, watch
        self._journal, self.source, self._sources = journal, source, sources
        self._began_at: float | None = None
        self._due_at = 0.0
        self._usage: Usage | None = None
        self._timings: list[Timing] = []

    def look(self, profiled_run: ProfiledRun) -> None:
        """Take a sample if it is due, and journal the usage since the last one."""
        now = self._sources.clock.monotonic()
        if not profiled_run.sessions or now < self._due_at:
            return
        self._began_at = now if self._began_at is None else self._began_at
        self._due_at = now + interval_s(now - self._began_at)
        timings = self._read_timings(profiled_run.ranks)
        step = max([profiled_run.step, *(one.step for one in timings)])
        usage = self._sources.processes.usage(profiled_run.sessions)
        if self._usage is not None and self._steps.is_on_after(step):
            self._keep(
                "system",
                step,
                profiled_run,
                system_values(self._usage, usage, self._sources.gpus.look(profiled_run.slots)),
            )
        self._usage = usage
        self._keep_timings(timings, step, profiled_run)

    def finish(self, profiled_run: ProfiledRun) -> None:
        """Journal the last counters after the run has ended."""
        if self._began_at is not None:
            timings = self._read_timings(profiled_run.ranks)
            self._keep_timings(
                timings, max([profiled_run.step, *(one.step for one in timings)]), profiled_run
            )
        self.source.wake(urgent=True)

    def close(self) -> None:
        """Close its journal."""
        self._journal.close()

    def _keep_timings(self, timings: list[Timing], step: int, profiled_run: ProfiledRun) -> None:
        if values := timing_values(self._timings, timings):
            self._keep("timing", step, profiled_run, values)
        elif any(one.at_ns for one in self._timings):
            return  # no step has ended since: the next sample covers the whole of it
        self._timings = timings

    def _keep(self, group: str, step: int, profiled_run: ProfiledRun, values: dict[str, float]) -> None:
        """Journal one report; skip it on a full disk."""
        time_ms = int(self._sources.clock.now().timestamp() * 1000)
        report = Report(group=group, step=step, time_ms=time_ms, values=named_for(profiled_run.node, values))
        with suppress(OSError):
            self._journal.append([(report.__pydantic_serializer__.to_json(report), 0)])
            self.source.wake(urgent=False)

    def _read_timings(self, ranks: int) -> list[Timing]:
        with opened(self._watch, TIMINGS) as file:
            return read_timings(os.pread(file, ranks * TIMING_BYTES, 0)) if file is not None else []


def open_profile(
    stored: StoredRun, paths: RunPaths, platform: PlatformConnection, sources: ProfileSources
) -> Profile | None:
    """Return the profiler of a profiled run; None for others.

    Raises:
        OSError: The disk is full or broken.
    """
    steps = read_profiled(spec_of(stored.allocation).profiling)
    if steps is None:
        return None
    journal = Journal(paths.journal("profile"))
    source = Source(journal, profile_sender(stored, platform), lambda text: None)
    return Profile(steps, paths.watch, journal, source, sources)


def make_timing_file(watch: Path, ranks: int) -> None:
    """Create the ranks' timing file at full size."""
    (watch / TIMINGS).write_bytes(bytes(ranks * TIMING_BYTES))
