"""Looks at a run that is profiled: now and then, from the daemon, so that no rank pays for it. What it sees goes the way of reports.

A run that is not profiled has nothing of this: no journal, no source, no look.
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
from worker.core.profile import Usage, interval_s, named_for, system_values, timing_values
from worker.executors.port import Processes
from worker.journal.journal import Journal
from worker.journal.sending import profile_sender
from worker.journal.sources import Source
from worker.machine.gpus import Gpus
from worker.paths import RunPaths
from worker.ranks.launch.description import spec_of
from worker.sandbox.safe_open import opened
from worker.store.records import KeptRun


@dataclass(frozen=True, slots=True)
class ProfileSources:
    """What is looked with."""

    processes: Processes
    gpus: Gpus
    clock: Clock


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """What is looked at: the sessions of the run's processes here, the step that rank 0 has reported here, how many ranks are, which
    machine of the gang this is, and its slots."""

    sessions: Collection[int]
    step: int
    ranks: int
    node: int
    slots: Sequence[int]


class Profile:
    """One run's. What was seen before a restart of the daemon is forgotten: it begins with a first look again.

    Attributes:
        source: The way of its journal to the registry.
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
        """Look if it is time, and journal what has been since the last look."""
        now = self._sources.clock.monotonic()
        if not profiled_run.sessions or now < self._due_at:
            return
        self._began_at = now if self._began_at is None else self._began_at
        self._due_at = now + interval_s(now - self._began_at)
        timings = self._read_timings(profiled_run.ranks)
        step = max([profiled_run.step, *(one.step for one in timings)])
        usage = self._sources.processes.usage(profiled_run.sessions)
        if self._usage is not None and self._steps.goes_on_after(step):
            self._keep(
                "system",
                step,
                profiled_run,
                system_values(self._usage, usage, self._sources.gpus.look(profiled_run.slots)),
            )
        self._usage = usage
        self._keep_timings(timings, step, profiled_run)

    def finish(self, profiled_run: ProfiledRun) -> None:
        """The run has ended: what its ranks have counted last is still there."""
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
            return  # no step has ended since: the next look shows the whole of it
        self._timings = timings

    def _keep(self, group: str, step: int, profiled_run: ProfiledRun, values: dict[str, float]) -> None:
        """Journal one report. A disk without room for it has better uses for what it has."""
        time_ms = int(self._sources.clock.now().timestamp() * 1000)
        report = Report(group=group, step=step, time_ms=time_ms, values=named_for(profiled_run.node, values))
        with suppress(OSError):
            self._journal.append([(report.__pydantic_serializer__.to_json(report), 0)])
            self.source.wake(urgent=False)

    def _read_timings(self, ranks: int) -> list[Timing]:
        with opened(self._watch / TIMINGS) as file:
            return read_timings(os.pread(file, ranks * TIMING_BYTES, 0)) if file is not None else []


def open_profile(
    kept: KeptRun, paths: RunPaths, platform: PlatformConnection, sources: ProfileSources
) -> Profile | None:
    """Return what measures a run that is profiled; None for others.

    Raises:
        OSError: The disk is full or broken.
    """
    steps = read_profiled(spec_of(kept.allocation).profiling)
    if steps is None:
        return None
    journal = Journal(paths.journal("profile"))
    source = Source(journal, profile_sender(kept, platform), lambda text: None)
    return Profile(steps, paths.watch, journal, source, sources)


def make_timing_file(watch: Path, ranks: int) -> None:
    """Make the file that ranks write their timings into, as `watch.make_pulses` does."""
    (watch / TIMINGS).write_bytes(bytes(ranks * TIMING_BYTES))
