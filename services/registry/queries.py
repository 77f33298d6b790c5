"""What other services ask: series, logs, checkpoints, lineage, and places for artifacts."""

from datetime import datetime, timedelta
from uuid import UUID

from services.registry import events
from services.registry.core.checkpoint import State
from services.registry.core.downsample import choose_points
from services.registry.links import Links
from services.registry.store import checkpoints, logs, models, series, trials
from services.registry.store.checkpoints import Checkpoint, File
from services.registry.store.curves import load_earlier
from services.registry.store.series import Curve
from shared.bus import Ask, Units
from shared.bus.responder import Answer, Question
from shared.driver import Driver
from shared.errors import Conflict, NotFound, Rejected
from shared.ids import CheckpointId, ExperimentId, TrialId
from shared.messages.checkpoints import (
    CheckpointPage,
    CheckpointView,
    FileLinks,
    GetCheckpointFiles,
    ListCheckpoints,
)
from shared.messages.logs import GetLogs, LogPage, StoredLine
from shared.messages.metrics import (
    CompareTrials,
    GetSeries,
    GetSummaries,
    Point,
    Series,
    SeriesPage,
    SeriesPages,
    TrialSummaries,
    TrialSummary,
)
from shared.messages.models import GetLineage, Lineage
from shared.messages.plans import Curves, GetCurves

POINTS_PER_ANSWER = 6_000
"""What fits into a reply; who wants more asks by name, or for fewer points."""
TRIALS_PER_COMPARE = 200
LINES_PER_PAGE = 5_000
LINES_PER_READ = 1_000
READS_PER_PAGE = 50
BYTES_PER_PAGE = 300 * 1024
CHECKPOINTS_PER_PAGE = 500
LATE_LOGS = timedelta(seconds=3)
"""How long after a trial's end its last lines may still be on their way."""


class Queries:
    """Answers `qry.v1.registry.*`, but for uploads."""

    def __init__(self, units: Units, links: Links) -> None:
        self._units = units
        self._links = links

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {
            GetSeries: self.on_series,
            CompareTrials: self.on_compare,
            GetSummaries: self.on_summaries,
            GetLogs: self.on_logs,
            ListCheckpoints: self.on_checkpoints,
            GetCheckpointFiles: self.on_checkpoint_files,
            GetLineage: self.on_lineage,
            GetCurves: self.on_curves,
        }

    async def on_series(self, ask: Ask, query: GetSeries) -> SeriesPage:
        """A trial's current points; an unknown trial has none."""
        pages = await self._pages(ask, (query.trial_id,), query.group, query.names, query.max_points)
        return pages[0]

    async def on_compare(self, ask: Ask, query: CompareTrials) -> SeriesPages:
        """The series of several trials side by side, in the order asked."""
        if len(query.trials) > TRIALS_PER_COMPARE:
            raise Rejected("trials_too_many", f"at most {TRIALS_PER_COMPARE} trials are compared at once")
        return SeriesPages(
            trials=await self._pages(ask, query.trials, query.group, query.names, query.max_points)
        )

    async def on_summaries(self, ask: Ask, query: GetSummaries) -> TrialSummaries:
        """Each metric of a trial in one row."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await series.load_summaries(Driver.of(unit.connection), query.trial_id)
        return TrialSummaries(
            trial_id=query.trial_id,
            metrics=tuple(
                TrialSummary(
                    group=group,
                    name=name,
                    count=summary.count,
                    min=summary.best(smaller_is_better=True),
                    max=summary.best(smaller_is_better=False),
                    mean=summary.mean,
                    last=summary.last,
                    last_step=summary.last_step,
                )
                for (group, name), summary in sorted(found.items(), key=lambda one: one[0])
            ),
        )

    async def on_logs(self, ask: Ask, query: GetLogs) -> LogPage:
        """Lines behind the cursor that match, in order; `next` moves on also over those that do not match."""
        limit = max(1, min(query.limit, LINES_PER_PAGE))
        async with self._units.tenant(ask.tenant) as unit:
            driver = Driver.of(unit.connection)
            head = await logs.load_head(driver, query.trial_id)
            over = await trials.load_end(unit.connection, query.trial_id)
            following = max(query.after, head - 1 - query.tail) if query.tail is not None else query.after
            page = _Page(query, limit)
            for _ in range(READS_PER_PAGE):
                placed = await logs.load_chunks(driver, query.trial_id, following, max(limit, LINES_PER_READ))
                following = page.take(placed, following)
                if page.is_full or not placed:
                    break
            is_over = over is not None and over + LATE_LOGS <= unit.now
        return LogPage(lines=tuple(page.lines), next=following, ended=is_over and following >= head - 1)

    async def on_checkpoints(self, ask: Ask, query: ListCheckpoints) -> CheckpointPage:
        """Checkpoints in the order of their making; those still uploading too."""
        limit = max(1, min(query.limit, CHECKPOINTS_PER_PAGE))
        async with self._units.tenant(ask.tenant) as unit:
            if query.checkpoint_id is not None:
                one = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id)
                found = [one] if one else []
            else:
                found = await checkpoints.load_checkpoints(
                    unit.connection,
                    trial=query.trial_id,
                    experiment=query.experiment_id,
                    after=_cursor(query.after),
                    limit=limit + 1,
                )
            page = found[:limit]
            files = await checkpoints.load_files(unit.connection, [one.id for one in page])
            metrics = await models.load_metrics(unit.connection, page)
        following = f"{page[-1].created_at.isoformat()}|{page[-1].id}" if len(found) > limit else None
        return CheckpointPage(
            checkpoints=tuple(_view(one, files[one.id], metrics.get(one.id, {})) for one in page),
            next=following,
        )

    async def on_checkpoint_files(self, ask: Ask, query: GetCheckpointFiles) -> FileLinks:
        """A saved checkpoint's files with URLs that read them; their hashes tell whether all of it arrived."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id)
            if found is None:
                raise NotFound(f"checkpoint {query.checkpoint_id}")
            files = (await checkpoints.load_files(unit.connection, [found.id]))[found.id]
        if found.state is not State.saved:
            raise Conflict("checkpoint_not_saved", f"checkpoint {found.id} is {events.PUBLIC[found.state]}")
        return FileLinks(
            checkpoint_id=CheckpointId(found.id), step=found.step, files=self._links.read_files(files)
        )

    async def on_lineage(self, ask: Ask, query: GetLineage) -> Lineage:
        """Where a model version comes from."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await models.load_lineage(unit.connection, query.version_id)
        if found is None:
            raise NotFound(f"version {query.version_id}")
        return found

    async def on_curves(self, ask: Ask, query: GetCurves) -> Curves:
        """How earlier runs of a code went."""
        async with self._units.tenant(ask.tenant) as unit:
            runs = await load_earlier(
                Driver.of(unit.connection), query.code_hash, query.metric, query.time_metric
            )
        return Curves(runs=tuple(runs))

    async def _pages(
        self,
        ask: Ask,
        wanted: tuple[TrialId, ...],
        group: str | None,
        names: tuple[str, ...],
        most: int | None,
    ) -> tuple[SeriesPage, ...]:
        if most is not None and most < 1:
            raise Rejected("bad_request", "max_points is at least 1", place="max_points")
        async with self._units.tenant(ask.tenant) as unit:
            curves = await series.load_curves(Driver.of(unit.connection), list(wanted), group, list(names))
        by_trial: dict[UUID, list[Series]] = {trial: [] for trial in wanted}
        total = 0
        for curve in curves:
            thinned = _series(curve, most)
            total += len(thinned.points)
            if total > POINTS_PER_ANSWER:
                raise Rejected(
                    "answer_too_large",
                    f"the answer would hold more than {POINTS_PER_ANSWER} points",
                    hint="name the metrics, or set a smaller max_points",
                )
            by_trial[curve.trial].append(thinned)
        return tuple(SeriesPage(trial_id=trial, series=tuple(by_trial[trial])) for trial in wanted)


def _series(curve: Curve, most: int | None) -> Series:
    count = len(curve.steps)
    chosen = range(count)
    if most is not None and count > most:
        chosen = choose_points(curve.steps.astype(float), curve.values, most)  # type: ignore[assignment]
    points = tuple(
        Point(
            step=int(curve.steps[place]),
            time_ms=int(curve.times_ms[place]),
            value=float(curve.values[place]),
            run_number=int(curve.runs[place]),
        )
        for place in chosen
    )
    return Series(group=curve.group, name=curve.name, count=count, points=points)


class _Page:
    """Lines that match, until there are enough of them or of their bytes."""

    def __init__(self, query: GetLogs, limit: int) -> None:
        self.lines: list[StoredLine] = []
        self._query = query
        self._limit = limit
        self._size = 0

    @property
    def is_full(self) -> bool:
        return len(self.lines) >= self._limit or self._size >= BYTES_PER_PAGE

    def take(self, placed: list[logs.Placed], after: int) -> int:
        """Take what fits of these lines, and return the cursor behind the last one that was looked at."""
        for one in placed:
            if self.is_full:
                break
            after = one.cursor
            if _matches(one, self._query):
                self._size += len(one.line.text) + 100
                self.lines.append(_stored_line(one))
        return after


def _stored_line(one: logs.Placed) -> StoredLine:
    return StoredLine(
        cursor=one.cursor,
        run_number=one.run_number,
        rank=one.line.rank,
        stream=one.line.stream,
        level=one.line.level,
        time_ms=one.line.time_ms,
        text=one.line.text,
    )


def _matches(one: logs.Placed, query: GetLogs) -> bool:
    return (
        (query.rank is None or one.line.rank == query.rank)
        and (query.run_number is None or one.run_number == query.run_number)
        and (query.stream is None or one.line.stream == query.stream)
        and (query.contains is None or query.contains in one.line.text)
    )


def _view(one: Checkpoint, files: list[File], metrics: dict[str, float]) -> CheckpointView:
    return CheckpointView(
        checkpoint_id=CheckpointId(one.id),
        trial_id=TrialId(one.trial),
        experiment_id=ExperimentId(one.experiment),
        run_number=one.run_number,
        step=one.step,
        state=events.PUBLIC[one.state],
        files=tuple(map(events.file_entry, files)),
        size_bytes=one.size_bytes,
        metrics=metrics,
        metadata=dict(one.metadata),
        created_at=one.created_at,
        reason=one.reason,
    )


def _cursor(text: str | None) -> tuple[datetime, UUID] | None:
    if text is None:
        return None
    instant, _, checkpoint = text.partition("|")
    try:
        return datetime.fromisoformat(instant), UUID(checkpoint)
    except ValueError as error:
        raise Rejected(
            "bad_cursor", "the cursor is none of ours; begin without one", place="after"
        ) from error
