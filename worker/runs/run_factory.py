"""Creates the components of a run and connects them. Neighbours: `context` holds them, `supervisor` gets their events."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster import wire
from shared.clock import Clock
from shared.messages.trial_specs import PolicyMatch
from worker.core.log_policies import Policies
from worker.core.masking import Mask
from worker.core.run.records import LocalRun
from worker.journal.journal import Journal
from worker.journal.journal_sender import Source
from worker.journal.logs import LogTail, TailEvents
from worker.journal.output_reader import outputs_of
from worker.journal.run_senders import log_sender, report_sender, trace_of
from worker.paths import RunPaths
from worker.ranks.elastic_connections import ElasticConnections
from worker.ranks.launch.trial_file import spec_of
from worker.ranks.server import RankServer, same_token
from worker.ranks.session import RankSession, SessionEvents
from worker.runs.checkpoints import announce_checkpoint, settle_checkpoint
from worker.runs.containers import account_without_sandboxes
from worker.runs.context import RunContext, Tools
from worker.runs.secrets import RunSecrets
from worker.runs.watching.hangs import open_hang_watch
from worker.runs.watching.phases import Phases, PhaseSender
from worker.runs.watching.profiling import ProfileSources, open_profile
from worker.store.records import StoredRun
from worker.transfer.checkpoints.upload import Announced, UploadEvents as UploadNeeds
from worker.transfer.checkpoints.uploads import Uploads
from worker.transfer.media.packing import Folders
from worker.transfer.media.sending import MediaDependencies, MediaSender
from worker.transfer.registry_client import RegistryClient


@dataclass(frozen=True, slots=True)
class ContextEvents:
    """Callbacks of a run's components."""

    on_acknowledged: Callable[[RunContext, str], None]
    on_progress: Callable[[RunContext], None]
    on_disk_fault: Callable[[RunContext, OSError], None]
    on_generation_confirmed: Callable[[RunContext, int, int], None]
    on_policies: Callable[[RunContext, int, str, tuple[PolicyMatch, ...]], None]


def open_context(stored: StoredRun, tools: Tools, events: ContextEvents) -> RunContext:
    """Open (or create) a run's files, and create and connect its components.

    Raises:
        OSError: The disk is full or broken.
    """
    paths = tools.paths.run(stored.run.run_id)
    paths.make()
    machine = tools.machine
    account = machine.sandboxing.account_of(paths.root) if machine.sandboxing else machine.account
    account = account or account_without_sandboxes(stored)
    handlers = _EventHandlers(events, Policies(spec_of(stored.allocation).log_policies, stored.run.policies))
    reports, logs = Journal(paths.journal("reports")), Journal(paths.journal("logs"))
    report_source = Source(reports, report_sender(stored, tools.platform), handlers.on_refused)
    log_source = Source(logs, log_sender(stored, tools.platform), lambda text: None)
    needs = UploadNeeds(
        tools.transfer.put,
        tools.transfer.put_part,
        handlers.on_upload_due,
        handlers.on_settled,
        handlers.on_upload_waiting,
    )
    registry = RegistryClient(tools.platform)
    secrets = RunSecrets(stored.run.run_id, spec_of(stored.allocation).secrets, tools.platform)
    uploads = Uploads(paths.uploads, registry, needs)
    media_dependencies = MediaDependencies(tools.transfer.put, tools.clock, handlers.on_refused)
    handlers.context = context = RunContext(
        stored=stored,
        paths=paths,
        tools=tools,
        secrets=secrets,
        session=_open_session(stored, reports, handlers, uploads.announced),
        reports=reports,
        logs=logs,
        report_source=report_source,
        log_source=log_source,
        tail=_open_tail(
            stored.run, paths, logs, tools.clock, handlers.tail_events(log_source), lambda: secrets.mask
        ),
        uploads=uploads,
        media=MediaSender(stored.run.run_id, _media_of(paths), paths.media, registry, media_dependencies),
        watch=open_hang_watch(paths.watch, spec_of(stored.allocation), tools.machine.kind, tools.processes),
        profile=open_profile(
            stored, paths, tools.platform, ProfileSources(tools.processes, tools.gpus, tools.clock)
        ),
        phases=Phases(
            stored.run.run_id, trace_of(stored), tools.clock, PhaseSender(stored.run.run_id, tools.platform)
        ),
        account=account,
        server=RankServer(paths.socket, handlers.find_session, account.user if account else None),
    )
    if not stored.run.is_over:
        context.server.open()
    context.start(report_source.run(), "reports")
    context.start(log_source.run(), "logs")
    context.start(uploads.run(), "uploads")
    context.start(context.media.run(), "media")
    context.start(context.phases.sender.run(), "phases")
    if context.profile:
        context.start(context.profile.source.run(), "profile")
    return context


@dataclass(slots=True)
class _EventHandlers:
    """Event handlers of a run's components. `context` is set before the first event."""

    events: ContextEvents
    policies: Policies
    context: RunContext = field(init=False)

    def tail_events(self, source: Source) -> TailEvents:
        return TailEvents(self.on_line, lambda: source.wake(urgent=False))

    def find_session(self, token: str) -> RankSession | None:
        """Return the session of the run for its token, while the run lives."""
        is_own = not self.context.run.is_over and same_token(self.context.stored.token, token)
        return self.context.session if is_own else None

    def on_reports(self, urgent: bool) -> None:
        self.context.phases.on_reports()
        self.context.report_source.wake(urgent)

    def on_upload_due(self) -> None:
        """Send reports at once: a manifest commits only after all earlier reports."""
        self.context.report_source.wake(urgent=True)

    def on_refused(self, text: str) -> None:
        self.context.tail.warn(f"some reported data was not stored: {text}")

    def on_settled(self, record: Announced) -> None:
        if record.state != "saved" and record.reason:
            self.context.tail.warn(f"the checkpoint at step {record.step} is not stored: {record.reason}")
        settle_checkpoint(self.context, record)

    def on_upload_waiting(self, record: Announced, reason: str) -> None:
        self.context.phases.on_upload_waits(record.number, record.step, record.announced_at, reason)

    def on_checkpoint(self, frame: wire.CheckpointFrame) -> None:
        announce_checkpoint(self.context, frame)
        self.events.on_progress(self.context)

    def on_acknowledged(self, signal: str) -> None:
        self.events.on_acknowledged(self.context, signal)

    def on_started(self) -> None:
        self.context.phases.on_entered()
        self.events.on_progress(self.context)

    def on_generation_confirmed(self, local: int, generation: int) -> None:
        self.events.on_generation_confirmed(self.context, local, generation)

    def on_line(self, rank: int, line: str) -> None:
        if met := self.policies.met_by(line):
            self.events.on_policies(self.context, rank, line, met)

    def on_disk_fault(self, error: OSError) -> None:
        self.events.on_disk_fault(self.context, error)


def _media_of(paths: RunPaths) -> Folders:
    """Return the media directories: `SummaryWriter()` without a directory writes below the working directory."""
    return Folders(paths.spool, ((paths.tensorboard, ""), (paths.code / "runs", "runs/")))


def _open_session(
    stored: StoredRun, reports: Journal, handlers: _EventHandlers, announced: int
) -> RankSession:
    """Create the session of the ranks, with the signal that was sent last."""
    run, slots = stored.run, spec_of(stored.allocation).slots
    events = SessionEvents(
        on_reports=handlers.on_reports,
        on_checkpoint=handlers.on_checkpoint,
        on_acknowledged=handlers.on_acknowledged,
        on_started=handlers.on_started,
        on_cut=handlers.on_refused,
        on_disk_fault=handlers.on_disk_fault,
    )
    elastic = ElasticConnections(handlers.on_generation_confirmed, max(1, slots.max))
    session = RankSession(reports, events, announced, elastic)
    session.signal, session.decide_at = str(run.notice.signal), run.request.decide_at
    return session


def _open_tail(
    run: LocalRun,
    paths: RunPaths,
    logs: Journal,
    clock: Clock,
    events: TailEvents,
    mask: Callable[[], Mask],
) -> LogTail:
    """Create the reader of the local ranks' output."""
    first = run.gang.assignment.first_rank
    ranks = [rank for _, rank in run.ranks.births] or range(first, first + run.local_ranks)
    offsets, outputs = paths.root / "offsets.json", outputs_of(paths, ranks)
    return LogTail(logs, offsets, outputs, clock, events, mask)
