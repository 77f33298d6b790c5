"""Stores workers' reports and logs: one transaction for batches of several journals. Each reply is a committed mark."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog

from services.registry import metrics
from services.registry.core.names import InputRefusal
from services.registry.core.report_cursors import FIRST_RECORD
from services.registry.ingest import store as reports
from services.registry.ingest.batches import Batch, IncomingBatch, read_batch
from services.registry.ingest.chunking import chunks_of, current_points
from services.registry.ingest.group_commit import Combiner
from services.registry.ingest.hints import Hints
from services.registry.ingest.store import ChunkRow, MarkUpdate, SeriesKey, ValidationRow
from services.registry.ingest.tracing import span_of_first, trace_of
from services.registry.logs.core.line_columns import IncomingLine
from services.registry.logs.store import chunks as logs
from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.series.core.names import choose_new_series
from services.registry.series.core.summary import summarise
from services.registry.store.metric_json import encode_values
from shared import telemetry
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.database.driver import AsyncpgDriver
from shared.errors import Rejected, Transient
from shared.ids import TenantId
from shared.messages.reports import LogBatch, Mark, ProfileBatch, ReportBatch, ValidationStored
from shared.messages.runs import RUN_DELETED, AllocationFacts
from shared.runtime import faults
from shared.runtime.cache import Cache

BEFORE_REPLY = faults.register("registry.before_reply")
MAX_RUNS = 5_000
MAX_SOURCES = 50_000
REFUSED_CHARACTERS = 2_000
MISSING_RETRY_S = 0.5
_log = structlog.get_logger()

Source = tuple[UUID, str, str]
"""Run, worker, stream: identifies a journal."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A batch whose mark advanced in this transaction."""

    batch: IncomingBatch
    moved: MarkUpdate


class Reports:
    """Answers `rpt.v1.<worker>.reports`, `.logs` and `.profile`."""

    def __init__(self, units: Units, facts: Facts, hints: Hints, lanes: int = 2) -> None:
        self._units = units
        self._facts = facts
        self._hints = hints
        self._known_sources = Cache[Source, bool]("report_sources", MAX_SOURCES)
        self._series = Cache[UUID, dict[tuple[str, str], int]]("report_series", MAX_RUNS)
        self._combiner = Combiner[IncomingBatch, Mark](
            self._store,
            source=_source,
            weight=lambda batch: batch.weight,
            lanes=lanes,
        )

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return dict.fromkeys((ReportBatch, LogBatch, ProfileBatch), self.on_batch)

    async def close(self) -> None:
        """Wait until every received batch is answered."""
        await self._combiner.close()

    async def on_batch(self, ask: RequestContext, batch: Batch) -> Mark:
        """Store a batch once, and return the committed mark of its source."""
        if batch.first < FIRST_RECORD:
            raise Rejected(
                "bad_batch",
                f"journal records are numbered from {FIRST_RECORD}; the batch starts at {batch.first}",
            )
        try:
            facts = await self._facts.of(batch.run_id, ask.worker)
            incoming = read_batch(batch, facts, ask.worker, trace_of(batch))
            with span_of_first(incoming):
                mark = await self._combiner.add(TenantId(facts.tenant), incoming)
        except Transient as error:
            return Mark(next=batch.first, retry_after_s=error.retry_after_s)
        except Rejected as error:
            if error.code == RUN_DELETED:
                return _skipped(batch.first + len(batch.records))
            if error.code != "unstorable":
                raise
            mark = await self._skip(facts, incoming, error)
        faults.point(BEFORE_REPLY)
        return mark

    async def _skip(self, facts: AllocationFacts, batch: IncomingBatch, error: Rejected) -> Mark:
        """Advance the mark past a batch that the database cannot store, and report it, so that the journal does not wait forever."""
        _log.error(
            "a batch could not be stored", run=str(batch.sent.run), first=batch.sent.first, error=str(error)
        )
        empty = IncomingBatch(facts, batch.worker, batch.sent, batch.trace)
        empty.refusals.append(InputRefusal(error.code, error.message))
        return await self._combiner.add(TenantId(facts.tenant), empty)

    async def _store(self, tenant: TenantId, batches: Sequence[IncomingBatch]) -> list[Mark]:
        async with self._units.tenant(tenant) as unit:
            driver = AsyncpgDriver.of(unit.connection)
            deleted = await self._register(unit, driver, batches)
            moved = await reports.move_marks(driver, [batch.sent for batch in batches])
            taken = [_Taken(batch, mark) for batch, mark in zip(batches, moved, strict=True) if mark.is_moved]
            if taken:
                await self._store_points(unit, driver, tenant, taken)
                await self._store_validations(unit, driver, tenant, taken)
                await self._store_lines(unit, driver, tenant, taken)
        for one in taken:
            sent, points = one.batch.sent, one.batch.points
            metrics.count_ingested(sent.stream, sent.after - sent.first, sum(map(len, points.values())))
        return [
            _skipped(batch.sent.after) if batch.sent.run in deleted else self._mark(batch, mark)
            for batch, mark in zip(batches, moved, strict=True)
        ]

    async def _register(
        self, unit: Unit, driver: AsyncpgDriver, batches: Sequence[IncomingBatch]
    ) -> set[UUID]:
        """Create unknown sources, and their runs if no event has; return runs that were deleted.

        Runs before any mark is updated, because locks are taken trial first, marks last.
        """
        new = [batch for batch in batches if not self._known_sources.get(_source(batch))]
        if not new:
            return set()
        known = await reports.load_known_runs(driver, [batch.sent.run for batch in new])
        unknown = {batch.sent.run: batch.facts for batch in new if batch.sent.run not in known}
        deleted: set[UUID] = set()
        for facts in sorted(unknown.values(), key=lambda one: one.trial_id):
            if await fences.is_deleted(unit, facts):
                deleted.add(facts.run_id)
            else:
                await fences.grant(unit, facts)
        await reports.register_sources(driver, [batch.sent for batch in new])
        kept = [_source(batch) for batch in new if batch.sent.run not in deleted]
        unit.after_commit(partial(self._keep_sources, kept))
        return deleted

    def _mark(self, batch: IncomingBatch, moved: MarkUpdate) -> Mark:
        """Return the committed mark. Refusals are repeated for a resent batch, so that a lost reply loses no reason."""
        if moved.next_record is None:
            # The run was deleted after this process cached the source; the retry looks it up again.
            self._known_sources.pop(_source(batch))
            return Mark(next=batch.sent.first, retry_after_s=MISSING_RETRY_S)
        reasons = dict.fromkeys(f"{refusal.code}: {refusal.reason}" for refusal in batch.refusals)
        refused = " ".join(reasons)[:REFUSED_CHARACTERS] if batch.sent.first < moved.next_record else ""
        return Mark(next=moved.next_record, refused=refused or None)

    async def _keep_sources(self, sources: Sequence[Source]) -> None:
        for source in sources:
            self._known_sources.put(source, True)

    async def _store_points(
        self, unit: Unit, driver: AsyncpgDriver, tenant: TenantId, taken: Sequence[_Taken]
    ) -> None:
        series = await self._series_of(unit, driver, tenant, [one.batch for one in taken])
        chunks: list[ChunkRow] = []
        summaries = []
        for one in taken:
            known = series[one.batch.sent.run]
            for key, points in one.batch.points.items():
                if (number := known.get(key)) is None:
                    continue
                chunks.extend(chunks_of(number, points))
                if summary := summarise(*current_points(points, one.moved.superseded_after)):
                    summaries.append((number, summary))
        if chunks:
            await reports.save_chunks(driver, tenant, unit.now.date(), chunks, summaries)
            for one in taken:
                if one.batch.points:
                    unit.after_commit(
                        partial(self._hints.metrics, tenant, one.batch.facts.trial_id, one.batch.sent.after)
                    )

    async def _series_of(
        self, unit: Unit, driver: AsyncpgDriver, tenant: TenantId, batches: Sequence[IncomingBatch]
    ) -> dict[UUID, dict[tuple[str, str], int]]:
        """Return the series of these batches' runs. New ones are created, and cached after the commit only."""
        with_points = [batch for batch in batches if batch.points]
        found = {batch.sent.run: self._series.get(batch.sent.run) for batch in with_points}
        fresh = [run for run, names in found.items() if names is None]
        known: dict[UUID, dict[tuple[str, str], int]] = {
            run: dict(names or {}) for run, names in found.items()
        }
        if fresh:
            for key, number in (await reports.load_series(driver, fresh)).items():
                known[key.run][key.group, key.name] = number
        wanted = self._new_series(with_points, known)
        if wanted:
            made = await reports.register_series(driver, tenant, wanted)
            for key, number in made.items():
                known[key.run][key.group, key.name] = number
        if fresh or wanted:
            unit.after_commit(partial(self._keep_series, known))
        # Logs and points of a run may be in one transaction: a batch without points must not hide its series.
        return {batch.sent.run: {} for batch in batches} | known

    def _new_series(
        self, batches: Sequence[IncomingBatch], known: dict[UUID, dict[tuple[str, str], int]]
    ) -> dict[SeriesKey, AllocationFacts]:
        wanted: dict[SeriesKey, AllocationFacts] = {}
        for batch in batches:
            run = batch.sent.run
            new = [key for key in batch.points if key not in known[run]]
            if not new:
                continue
            accepted, refusal = choose_new_series(known[run], new)
            if refusal:
                batch.refusals.append(refusal)
            wanted |= {SeriesKey(run, group, name): batch.facts for group, name in accepted}
        return wanted

    async def _keep_series(self, known: dict[UUID, dict[tuple[str, str], int]]) -> None:
        for run, names in known.items():
            self._series.put(run, (self._series.get(run) or {}) | names)

    async def _store_validations(
        self, unit: Unit, driver: AsyncpgDriver, tenant: TenantId, taken: Sequence[_Taken]
    ) -> None:
        rows = [
            ValidationRow(
                one.batch.sent.run,
                validation.number,
                one.batch.facts.trial_id,
                one.batch.facts.experiment_id,
                validation.step,
                validation.time_ms,
                encode_values(validation.values),
                one.batch.facts.token,
                one.moved.is_stale,
            )
            for one in taken
            for validation in one.batch.validations
        ]
        if not rows:
            return
        stored = await reports.save_validations(driver, tenant, unit.now, rows)
        for one in taken:
            with telemetry.span("store validations", parent=one.batch.trace, run=one.batch.sent.run):
                for validation in one.batch.validations:
                    if (one.batch.sent.run, validation.number) in stored:
                        unit.emit(
                            _validation_stored(one, validation.number, validation.step, validation.values)
                        )

    async def _store_lines(
        self, unit: Unit, driver: AsyncpgDriver, tenant: TenantId, taken: Sequence[_Taken]
    ) -> None:
        chunks = [
            logs.Chunk(one.batch.facts.trial_id, one.batch.facts.run_number, tuple(part))
            for one in taken
            for part in _parts(one.batch.lines)
        ]
        if not chunks:
            return
        heads = await logs.save_chunks(driver, tenant, unit.now.date(), chunks)
        for trial, following in heads.items():
            unit.after_commit(partial(self._hints.logs, tenant, trial, following - 1))


def _skipped(following: int) -> Mark:
    """Return the mark for a source of a deleted run, so that its journal stops waiting."""
    return Mark(next=following, refused=f"{RUN_DELETED}: {fences.DELETED}")


def _source(batch: IncomingBatch) -> Source:
    return batch.sent.run, batch.sent.worker, batch.sent.stream


def _parts(lines: Sequence[IncomingLine]) -> list[Sequence[IncomingLine]]:
    return [lines[start : start + logs.CHUNK_LINES] for start in range(0, len(lines), logs.CHUNK_LINES)]


def _validation_stored(one: _Taken, number: int, step: int, values: dict[str, float]) -> ValidationStored:
    facts = one.batch.facts
    return ValidationStored(
        trial_id=facts.trial_id,
        experiment_id=facts.experiment_id,
        run_id=facts.run_id,
        run_number=facts.run_number,
        token=facts.token,
        version=number,
        number=number,
        step=step,
        values=values,
        worker=one.batch.worker,
        stale=one.moved.is_stale,
    )
