"""Everything of one run on this machine, put together: its record, journals, sources, session, log tail and uploads."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster import wire
from shared.clock import Clock
from shared.ids import CheckpointId, WorkerId, derived_id
from shared.messages.specs import PolicyMatch
from worker.connection.line import Line
from worker.core.policies import Policies
from worker.core.run.reducers import LocalRun
from worker.environments.environments import Environments
from worker.executors.port import Processes
from worker.journal.journal import Journal
from worker.journal.logs import LogTail, TailEvents
from worker.journal.outputs import outputs_of
from worker.journal.sending import RegistryLine, log_sender, report_sender, trace_of
from worker.journal.sources import Source
from worker.machine.gpus import Gpus
from worker.machine.host import Machine
from worker.places import Places, RunPlaces
from worker.ranks.launch.description import spec_of
from worker.ranks.seats import Seats
from worker.ranks.session import RankSession, SessionEvents
from worker.runs.hooks import Hook
from worker.runs.phases import Phases, PhaseSender
from worker.runs.profiling import Eyes, Profile, Subject, open_profile
from worker.runs.watch import Watch, open_watch
from worker.store import KeptRun
from worker.transfer.checkpoints.restore import Restorer
from worker.transfer.checkpoints.upload import Announced, UploadEvents as UploadNeeds, drop_folder
from worker.transfer.checkpoints.uploads import Uploads
from worker.transfer.code import CodeCache
from worker.transfer.http import Transfer
from worker.transfer.media.packing import Folders
from worker.transfer.media.sending import MediaNeeds, MediaSender


@dataclass(frozen=True, slots=True)
class Tools:
    """What all runs of the worker share."""

    line: Line
    worker: WorkerId
    clock: Clock
    places: Places
    machine: Machine
    transfer: Transfer
    code: CodeCache
    checkpoints: Restorer
    environments: Environments
    min_free_bytes: int
    processes: Processes
    gpus: Gpus


@dataclass(slots=True, eq=False)
class RunContext:
    """One run. `run` is replaced by the supervisor alone; `started` has the process of each name that the warm parent has told."""

    kept: KeptRun
    places: RunPlaces
    tools: Tools
    session: RankSession
    reports: Journal
    logs: Journal
    report_source: Source
    log_source: Source
    tail: LogTail
    uploads: Uploads
    media: MediaSender
    watch: Watch
    profile: Profile | None
    phases: Phases
    started: dict[str, int] = field(default_factory=dict)
    hook: Hook = field(default_factory=Hook)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def trace(self) -> dict[str, str]:
        """The trace that the run belongs to, as headers."""
        return trace_of(self.kept)

    @property
    def machine(self) -> Machine:
        """The machine as the run's processes find it: what its environment brings comes first."""
        machine, name = self.tools.machine, self.kept.environment
        return self.tools.environments.over(machine, name) if name else machine

    @property
    def run(self) -> LocalRun:
        """The run's state."""
        return self.kept.run

    @property
    def is_drained(self) -> bool:
        """Whether the registry has all that was written here."""
        sources = (self.report_source, self.log_source, *([self.profile.source] if self.profile else ()))
        parts = (*sources, self.uploads, self.media, self.phases.sender)
        return self.tail.is_done and all(one.is_drained for one in parts)

    @property
    def subject(self) -> Subject:
        """What of the run a profile looks at."""
        mine = (one for one in self.kept.allocation.members if one.worker == self.tools.worker)
        slots = next((one.slot_ids for one in mine), ())
        return Subject(self.started.values(), self.session.step, self.run.ranks, self.run.seat.index, slots)

    def start(self, main: Coroutine[Any, Any, None], name: str) -> None:
        """Run a task for as long as the context lives."""
        task = asyncio.get_running_loop().create_task(main, name=f"{name} {self.run.run_id}")
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def close(self) -> None:
        """End the tasks and close the files."""
        for task in list(self.tasks):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self.tasks, return_exceptions=True)
        self.reports.close()
        self.logs.close()
        if self.profile:
            self.profile.close()


@dataclass(frozen=True, slots=True)
class ContextEvents:
    """Whom a run's parts tell."""

    on_acknowledged: Callable[[RunContext, str], None]
    on_progress: Callable[[RunContext], None]
    on_disk_fault: Callable[[RunContext, OSError], None]
    on_seated: Callable[[RunContext, int, int], None]
    on_policies: Callable[[RunContext, int, str, tuple[PolicyMatch, ...]], None]


def open_context(kept: KeptRun, tools: Tools, events: ContextEvents) -> RunContext:
    """Open (or make) what a run needs on disk, and wire its parts to each other.

    Raises:
        OSError: The disk is full or broken.
    """
    places = tools.places.run(kept.run.run_id)
    places.make()
    ears = _Ears(events, Policies(spec_of(kept.allocation).log_policies, kept.run.policies))
    reports, logs = Journal(places.journal("reports")), Journal(places.journal("logs"))
    report_source = Source(reports, report_sender(kept, tools.line), ears.on_refused)
    log_source = Source(logs, log_sender(kept, tools.line), lambda text: None)
    needs = UploadNeeds(
        tools.transfer.put,
        tools.transfer.put_part,
        ears.on_upload_due,
        ears.on_settled,
        ears.on_upload_waiting,
    )
    registry = RegistryLine(tools.line)
    uploads = Uploads(places.uploads, registry, needs)
    kept_media = MediaNeeds(tools.transfer.put, tools.clock, ears.on_refused)
    ears.context = context = RunContext(
        kept=kept,
        places=places,
        tools=tools,
        session=_open_session(kept.run, reports, ears, uploads.announced),
        reports=reports,
        logs=logs,
        report_source=report_source,
        log_source=log_source,
        tail=_open_tail(kept.run, places, logs, tools.clock, ears.tail_events(log_source)),
        uploads=uploads,
        media=MediaSender(kept.run.run_id, _media_of(places), places.media, registry, kept_media),
        watch=open_watch(places.watch, spec_of(kept.allocation), tools.machine.kind, tools.processes),
        profile=open_profile(kept, places, tools.line, Eyes(tools.processes, tools.gpus, tools.clock)),
        phases=Phases(kept.run.run_id, trace_of(kept), tools.clock, PhaseSender(kept.run.run_id, tools.line)),
    )
    context.start(report_source.run(), "reports")
    context.start(log_source.run(), "logs")
    context.start(uploads.run(), "uploads")
    context.start(context.media.run(), "media")
    context.start(context.phases.sender.run(), "phases")
    if context.profile:
        context.start(context.profile.source.run(), "profile")
    return context


def announce_checkpoint(context: RunContext, frame: wire.Checkpoint) -> None:
    """Keep an announced checkpoint for uploading. Its folder must be one of the run's own.

    Raises:
        OSError: The disk is full or broken.
    """
    folder = Path(frame.directory)
    if folder.parent != context.places.checkpoints or folder.name in ("", ".", ".."):
        context.tail.say(
            f"checkpoint {frame.number} was not taken: {frame.directory} is not its folder", "error"
        )
        return
    run_id = context.run.run_id
    record = Announced(
        run_id=run_id,
        checkpoint_id=CheckpointId(derived_id(run_id, "checkpoint", frame.number)),
        number=frame.number,
        step=frame.step,
        directory=folder,
        after_report=frame.after_report,
        metadata=dict(frame.metadata),
        parts=tuple(map(WorkerId, frame.parts)),
        announced_at=context.tools.clock.now(),
    )
    context.uploads.add(record)
    context.phases.on_written(frame.number, frame.step, frame.written_s)


def settle_checkpoint(context: RunContext, record: Announced) -> None:
    """The registry decided: a saved checkpoint's files serve as cache, others go."""
    context.phases.on_uploaded(record.number, record.step, record.announced_at)
    if began := record.announced_at:
        context.session.settle(record.number, (context.tools.clock.now() - began).total_seconds())
    if record.state == "saved":
        tenant = context.kept.allocation.tenant
        context.tools.checkpoints.keep(tenant, record.directory, record.files or ())
    else:
        drop_folder(record.directory)
        context.tail.say(
            f"checkpoint {record.number} of step {record.step} was not kept: {record.state}", "warning"
        )


@dataclass(slots=True)
class _Ears:
    """What a run's parts say, and whom it concerns. `context` is there before any of them speaks."""

    events: ContextEvents
    policies: Policies
    context: RunContext = field(init=False)

    def tail_events(self, source: Source) -> TailEvents:
        return TailEvents(self.on_line, lambda: source.wake(urgent=False))

    def on_reports(self, urgent: bool) -> None:
        self.context.phases.on_reports()
        self.context.report_source.wake(urgent)

    def on_upload_due(self) -> None:
        """A manifest commits when all reports before it have: they are not to linger."""
        self.context.report_source.wake(urgent=True)

    def on_refused(self, text: str) -> None:
        self.context.tail.warn(f"not all that was reported is kept: {text}")

    def on_settled(self, record: Announced) -> None:
        if record.state != "saved" and record.reason:
            self.context.tail.warn(f"the checkpoint at step {record.step} is not stored: {record.reason}")
        settle_checkpoint(self.context, record)

    def on_upload_waiting(self, record: Announced, reason: str) -> None:
        self.context.phases.on_upload_waits(record.number, record.step, record.announced_at, reason)

    def on_checkpoint(self, frame: wire.Checkpoint) -> None:
        announce_checkpoint(self.context, frame)
        self.events.on_progress(self.context)

    def on_acknowledged(self, signal: str) -> None:
        self.events.on_acknowledged(self.context, signal)

    def on_started(self) -> None:
        self.context.phases.on_entered()
        self.events.on_progress(self.context)

    def on_seated(self, local: int, generation: int) -> None:
        self.events.on_seated(self.context, local, generation)

    def on_line(self, rank: int, line: str) -> None:
        if met := self.policies.met_by(line):
            self.events.on_policies(self.context, rank, line, met)

    def on_disk_fault(self, error: OSError) -> None:
        self.events.on_disk_fault(self.context, error)


def _media_of(places: RunPlaces) -> Folders:
    """Where media are: `SummaryWriter()` writes below the working directory where nobody names another."""
    return Folders(places.spool, ((places.tensorboard, ""), (places.code / "runs", "runs/")))


def _open_session(run: LocalRun, reports: Journal, ears: _Ears, announced: int) -> RankSession:
    """What the ranks talk to, with what the run was told last."""
    events = SessionEvents(
        on_reports=ears.on_reports,
        on_checkpoint=ears.on_checkpoint,
        on_acknowledged=ears.on_acknowledged,
        on_started=ears.on_started,
        on_cut=ears.on_refused,
        on_disk_fault=ears.on_disk_fault,
    )
    session = RankSession(reports, events, announced, Seats(ears.on_seated))
    session.signal, session.decide_at = str(run.told), run.decide_at
    return session


def _open_tail(run: LocalRun, places: RunPlaces, logs: Journal, clock: Clock, events: TailEvents) -> LogTail:
    """Follows what the ranks of this machine write."""
    ranks = [rank for _, rank in run.births] or range(run.seat.first_rank, run.seat.first_rank + run.ranks)
    offsets, outputs = places.root / "offsets.json", outputs_of(places, ranks)
    return LogTail(logs, offsets, outputs, clock, events)
