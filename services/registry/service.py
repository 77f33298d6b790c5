"""Composition root of the registry: creates the components and defines the order in which they start and stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial

from services.registry.checkpoints.announcements import Announcements
from services.registry.checkpoints.cleanup import SWEEP_EVERY, CheckpointCleanup
from services.registry.checkpoints.commits import Commits
from services.registry.checkpoints.management import CheckpointManagement
from services.registry.checkpoints.restoring import RestoreRequests
from services.registry.checkpoints.retention import Retention
from services.registry.checkpoints.scrub import Scrub
from services.registry.checkpoints.settling import Settling
from services.registry.checkpoints.verifier import Verifier
from services.registry.code.uploads import CodeUploads
from services.registry.concurrency import FairConcurrencyLimit
from services.registry.deletion.registry_deletion import RegistryDeletion
from services.registry.exports import queries as exports
from services.registry.exports.queries import Exports
from services.registry.exports.sources import Points, Trials
from services.registry.handlers import COMMANDS, EVENTS
from services.registry.ingest.hints import Hints
from services.registry.ingest.reports import Reports
from services.registry.logs.packer import LogPacker
from services.registry.logs.reader import LogReader
from services.registry.media.packs import MediaPacks
from services.registry.media.retention import MediaRetention
from services.registry.queries import RegistryQueries
from services.registry.runs.images import PinnedImages
from services.registry.runs.phases import Phases
from services.registry.runs.reporting_workers import AskedFacts
from services.registry.series.packing import Packing
from services.registry.settings import RegistrySection, Settings
from services.registry.storage.links import INCOMING, PresignedUrls
from shared.bus import Bus, Responder, Units
from shared.bus.data_deletion import DeletionLoop
from shared.bus.health import health_answers
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.partitions import Partitioned, Partitions
from shared.infrastructure import Infrastructure
from shared.messages.exports import ExportMetrics, ExportTable
from shared.objects.s3 import S3Objects
from shared.objects.signed_upload_check import Binding
from shared.runtime.loops import repeat
from shared.runtime.process import ServiceProcess

Work = Callable[[], Awaitable[None]]
Loop = tuple[Work, timedelta]
NAME = "registry"
QUESTIONS_AT_ONCE = 256

ASKED_ELSEWHERE_EVERY = timedelta(seconds=15)
"""Interval for verification requests that another replica received and did not finish."""
SCRUB_EVERY = timedelta(minutes=1)


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Build the registry on the process."""
    wanted = settings.registry
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    bus, units, clock = infrastructure.bus, infrastructure.units, infrastructure.clock
    partitions = Partitions(infrastructure.database, partitioned(wanted), clock)
    await process.reach("postgres", partitions.apply)
    objects = S3Objects.of(settings.s3, clock)
    process.on_close(objects.close)

    links = PresignedUrls(objects, timedelta(seconds=wanted.link_life_s), wanted.part_bytes)
    facts, hints = AskedFacts(bus, clock), Hints(bus)
    verifier = Verifier(objects, clock, wanted.hash_up_to_bytes, wanted.part_bytes)
    binding = Binding(objects, settings.s3.bucket, INCOMING, clock, is_wanted=wanted.bind_uploads)
    reports = Reports(units, facts, hints, wanted.lanes)
    requests = RestoreRequests(units, facts, links, verifier)
    announcements = Announcements(units, facts, links, binding)
    commits = Commits(units, facts, verifier)
    media = MediaPacks(units, facts, links, objects, binding)
    log_reader, log_packer = _logs(wanted, units, objects, clock)
    phases = Phases(units, facts)
    images = PinnedImages(units, facts)
    queries = RegistryQueries(units, links, log_reader)
    uploads = CodeUploads(units, objects, links, binding, clock, wanted.code_bytes)
    retention = Retention(units, bus)
    scrub = Scrub(units, verifier, clock, wanted.scrub_bytes_per_s, timedelta(seconds=wanted.scrub_every_s))
    management = CheckpointManagement(units, retention, scrub.asked)
    exported = _exports(units, objects, links, clock)
    upkeep = _upkeep(wanted, units, retention, objects, clock)
    packing = Packing(units, clock, wanted.detail_points_days)
    media_retention = MediaRetention(units, objects, clock, wanted.keep_points_days)
    link_life = timedelta(seconds=wanted.link_life_s)
    deleting = DeletionLoop(
        units, NAME, RegistryDeletion(units, objects, upkeep, media_retention, log_packer, link_life)
    )
    parts = (
        reports,
        requests,
        announcements,
        commits,
        media,
        phases,
        images,
        queries,
        uploads,
        management,
        *exported,
    )
    answers = {question: answer for part in parts for question, answer in part.answers().items()}
    answers |= health_answers(process)
    for closed in (*exported, log_reader, verifier, hints, reports):
        process.on_close(closed.close)

    infrastructure.publish()
    # Only requests that need objects wait for the store: clients retry them. Reports are stored meanwhile.
    process.start("bucket", lambda: _prepare_store(process, objects, binding))
    process.start("partitions", partitions.run)
    sweep_exports = partial(exports.sweep, objects, clock)
    loops = _loops(wanted, upkeep, packing, media_retention, log_packer, scrub, sweep_exports)
    loops["settle"] = (Settling(units, objects).settle, timedelta(seconds=wanted.settle_every_s))
    for name, (does, every) in loops.items():
        process.start(name, partial(repeat, does, every))
    process.start("asked", lambda: repeat(scrub.read_asked, ASKED_ELSEWHERE_EVERY, scrub.asked))
    infrastructure.consume("events", EVENTS)
    process.start("deleting", deleting.run)
    infrastructure.consume("commands", {**COMMANDS, **deleting.handlers()})
    await _answer(process, bus, answers)
    process.mark_ready()


async def _prepare_store(process: ServiceProcess, objects: S3Objects, binding: Binding) -> None:
    """Create the bucket, and test whether the store enforces signed content, before the first upload needs it."""
    await process.reach("s3", objects.ensure_bucket)
    await process.reach("s3", binding.holds)


async def _answer(process: ServiceProcess, bus: Bus, answers: Mapping[Question, Answer]) -> None:
    """Answer questions until the process ends; return once the subscriptions exist."""
    answering = asyncio.Event()

    async def answer(stopping: asyncio.Event) -> None:
        async with Responder(bus, NAME, answers, QUESTIONS_AT_ONCE):
            answering.set()
            await stopping.wait()

    process.start_until_stopped("answers", answer)
    await answering.wait()


def _upkeep(
    wanted: RegistrySection, units: Units, retention: Retention, objects: S3Objects, clock: Clock
) -> CheckpointCleanup:
    """Return the collection and deletion loops as configured."""
    return CheckpointCleanup(
        units,
        retention,
        objects,
        clock,
        collect_after=timedelta(seconds=wanted.collect_after_s),
        unused_for=timedelta(seconds=wanted.unused_for_s),
        is_dry=wanted.collect_dry,
    )


def _exports(
    units: Units, objects: S3Objects, links: PresignedUrls, clock: Clock
) -> tuple[Exports[ExportMetrics], Exports[ExportTable]]:
    """Return the exports of points and tables, which share a concurrency limit."""
    limit = FairConcurrencyLimit(exports.AT_ONCE)
    return (
        Exports(ExportMetrics, Points(units), objects, links, clock, limit),
        Exports(ExportTable, Trials(units), objects, links, clock, limit),
    )


def _logs(
    wanted: RegistrySection, units: Units, objects: S3Objects, clock: Clock
) -> tuple[LogReader, LogPacker]:
    """Return the log reader and packer as configured."""
    reader = LogReader(units, objects)
    packer = LogPacker(
        units,
        objects,
        reader,
        clock,
        object_bytes=wanted.log_object_bytes,
        remainder_bytes=min(wanted.log_remainder_bytes, wanted.log_object_bytes),
        remainder_after=timedelta(seconds=wanted.log_remainder_after_s),
        attempt_for=timedelta(seconds=wanted.log_attempt_s),
        keep=_days(wanted.keep_logs_days),
    )
    return reader, packer


def _loops(
    wanted: RegistrySection,
    upkeep: CheckpointCleanup,
    packing: Packing,
    media: MediaRetention,
    log_packer: LogPacker,
    scrub: Scrub,
    sweep_exports: Work,
) -> dict[str, Loop]:
    """Return the background loops and their intervals."""
    return {
        "pack": (packing.pack, timedelta(seconds=wanted.pack_every_s)),
        "pack_old": (packing.pack_old, SWEEP_EVERY),
        "retain": (packing.retain, timedelta(seconds=wanted.retain_every_s)),
        "retain_media": (media.retain, timedelta(seconds=wanted.retain_every_s)),
        "collect": (upkeep.collect, timedelta(seconds=wanted.collect_every_s)),
        "delete": (upkeep.delete, timedelta(seconds=wanted.collect_every_s)),
        "unused": (upkeep.drop_unused, timedelta(seconds=wanted.unused_every_s)),
        "pack_logs": (log_packer.pack, timedelta(seconds=wanted.log_pack_every_s)),
        "retain_logs": (log_packer.retain, timedelta(seconds=wanted.retain_every_s)),
        "drop_logs": (log_packer.drop, timedelta(seconds=wanted.unused_every_s)),
        "scrub": (scrub.read_on, SCRUB_EVERY),
        "sweep": (upkeep.sweep, SWEEP_EVERY),
        "sweep_exports": (sweep_exports, SWEEP_EVERY),
    }


def partitioned(wanted: RegistrySection) -> tuple[Partitioned, ...]:
    """Return the tables partitioned by day, and how long days are kept."""
    return (
        Partitioned(NAME, "point_chunk", _days(wanted.keep_points_days)),
        Partitioned(NAME, "log_chunk", _days(wanted.keep_logs_days)),
    )


def _days(count: int | None) -> timedelta | None:
    return None if count is None else timedelta(days=count)
