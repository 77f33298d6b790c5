"""Queries on series, summaries, and curves of earlier runs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.downsample import choose_points
from services.registry.series.core.report_cursor import (
    ReadPosition,
    StoredPoint,
    choose_new,
    has_missed,
    recount,
)
from services.registry.series.core.steps import EVERY_STEP
from services.registry.series.store import series
from services.registry.series.store.curves import load_earlier
from services.registry.series.store.series import Curve, MetricSelection
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.ids import TrialId
from shared.messages.metrics import (
    CompareTrials,
    GetReported,
    GetReportedByTrials,
    GetSeries,
    GetSummaries,
    ReportCursor,
    ReportedByTrials,
    ReportedPoint,
    ReportedPoints,
    Series,
    SeriesPage,
    SeriesPages,
    SeriesPoint,
    TrialReportCursor,
    TrialSummaries,
    TrialSummary,
)
from shared.messages.plans import Curves, GetCurves

POINTS_PER_ANSWER = 6_000
"""Maximum that fits into a reply; clients can name metrics or request fewer points."""
TRIALS_PER_COMPARE = 200


class MetricQueries:
    """Answers queries on points and summaries."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {
            GetSeries: self.on_series,
            CompareTrials: self.on_compare,
            GetSummaries: self.on_summaries,
            GetReported: self.on_reported,
            GetReportedByTrials: self.on_reported_by_trials,
            GetCurves: self.on_curves,
        }

    async def on_series(self, ask: RequestContext, query: GetSeries) -> SeriesPage:
        """Return a trial's current points; an unknown trial has none."""
        pages = await self._pages(ask, (query.trial_id,), query)
        return pages[0]

    async def on_compare(self, ask: RequestContext, query: CompareTrials) -> SeriesPages:
        """Return the series of several trials, in the order requested."""
        if len(query.trials) > TRIALS_PER_COMPARE:
            raise Rejected(
                "trials_too_many",
                f"{len(query.trials)} trials were requested; at most {TRIALS_PER_COMPARE} can be compared per request",
            )
        return SeriesPages(trials=await self._pages(ask, query.trials, query))

    async def on_summaries(self, ask: RequestContext, query: GetSummaries) -> TrialSummaries:
        """Return the summary of each metric of a trial."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await series.load_summaries(unit.connection, query.trial_id)
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

    async def on_reported(self, ask: RequestContext, query: GetReported) -> ReportedPoints:
        """Return what a trial's script reported after a position; an unknown trial has reported nothing."""
        asked = TrialReportCursor(trial_id=query.trial_id, after=query.after)
        return (await self._reported(ask, (asked,), query, MetricSelection()))[0]

    async def on_reported_by_trials(
        self, ask: RequestContext, query: GetReportedByTrials
    ) -> ReportedByTrials:
        """Return the same for several trials, read together."""
        if len(query.trials) > TRIALS_PER_COMPARE:
            raise Rejected(
                "trials_too_many",
                f"{len(query.trials)} trials were requested; at most {TRIALS_PER_COMPARE} can be read per request",
            )
        which = MetricSelection(query.group, query.names)
        return ReportedByTrials(trials=await self._reported(ask, query.trials, query, which))

    async def on_curves(self, ask: RequestContext, query: GetCurves) -> Curves:
        """Return learning curves of earlier runs of a code."""
        async with self._units.tenant(ask.tenant) as unit:
            runs = await load_earlier(unit.connection, query.code_hash, query.metric, query.time_metric)
        return Curves(runs=tuple(runs))

    async def _reported(
        self,
        ask: RequestContext,
        asked: tuple[TrialReportCursor, ...],
        query: GetReported | GetReportedByTrials,
        which: MetricSelection,
    ) -> tuple[ReportedPoints, ...]:
        if query.from_now:
            return await self._latest(ask, [one.trial_id for one in asked], which)
        positions = {one.trial_id: ReadPosition(*one.after.model_dump().values()) for one in asked}
        most = max(1, min(query.limit, POINTS_PER_ANSWER) // max(1, len(asked)))
        async with self._units.tenant(ask.tenant) as unit:
            behind: dict[UUID, tuple[int, int]] = {t: (p.run, p.step) for t, p in positions.items()}
            found = await series.load_reported(unit.connection, behind, which)
            missed = {t: p for t, p in positions.items() if has_missed(found[t], p)}
            behind = {t: (p.run, EVERY_STEP[0]) for t, p in missed.items()}
            whole = await series.load_reported(unit.connection, behind, which)
        for trial, position in missed.items():
            found[trial], positions[trial] = whole[trial], recount(whole[trial], position)
        return tuple(
            _points(*choose_new(found[one.trial_id], positions[one.trial_id], most)) for one in asked
        )

    async def _latest(
        self, ask: RequestContext, trials: Sequence[TrialId], which: MetricSelection
    ) -> tuple[ReportedPoints, ...]:
        async with self._units.tenant(ask.tenant) as unit:
            latest = await series.load_latest_positions(unit.connection, trials, which)
        return tuple(_points([], latest.get(trial, ReadPosition()), is_last=True) for trial in trials)

    async def _pages(
        self,
        ask: RequestContext,
        wanted: tuple[TrialId, ...],
        query: GetSeries | CompareTrials,
    ) -> tuple[SeriesPage, ...]:
        most = query.max_points
        if most is not None and most < 1:
            raise Rejected("bad_request", "max_points must be at least 1", place="max_points")
        async with self._units.tenant(ask.tenant) as unit:
            curves = await _load(unit.connection, wanted, query)
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


async def _load(
    connection: AsyncConnection, wanted: tuple[TrialId, ...], query: GetSeries | CompareTrials
) -> list[Curve]:
    """Read a range of steps point by point: a zoomed chart needs more than the roll-ups contain."""
    which = MetricSelection(query.group, query.names)
    if query.first_step is None and query.last_step is None:
        return await series.load_curves(connection, list(wanted), which, query.max_points)
    first = EVERY_STEP[0] if query.first_step is None else query.first_step
    last = EVERY_STEP[1] if query.last_step is None else query.last_step
    return await series.load_curves(connection, list(wanted), which, steps=(first, last))


def _series(curve: Curve, most: int | None) -> Series:
    chosen = np.arange(len(curve.steps))
    if most is not None and len(chosen) > most:
        chosen = choose_points(curve.steps.astype(float), curve.values, most)
    columns = (column[chosen].tolist() for column in (curve.steps, curve.times_ms, curve.values, curve.runs))
    points = tuple(
        SeriesPoint(step=step, time_ms=time_ms, value=value, run_number=run)
        for step, time_ms, value, run in zip(*columns, strict=True)
    )
    return Series(group=curve.group, name=curve.name, count=curve.count, points=points)


def _points(points: Sequence[StoredPoint], end: ReadPosition, is_last: bool) -> ReportedPoints:
    return ReportedPoints(
        points=tuple(ReportedPoint(**_named(one)) for one in points),
        end=ReportCursor(run_number=end.run, record=end.record, step=end.step, count=end.count),
        is_last=is_last,
    )


def _named(point: StoredPoint) -> dict[str, Any]:
    fields = point._asdict()
    return {"run_number": fields.pop("run"), **fields}
