"""Series, their summaries, and how earlier runs went."""

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
"""What fits into a reply; who wants more asks by name, or for fewer points."""
TRIALS_PER_COMPARE = 200


class MetricQueries:
    """Answers what is asked of points and summaries."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {
            GetSeries: self.on_series,
            CompareTrials: self.on_compare,
            GetSummaries: self.on_summaries,
            GetReported: self.on_reported,
            GetReportedByTrials: self.on_reported_by_trials,
            GetCurves: self.on_curves,
        }

    async def on_series(self, ask: RequestContext, query: GetSeries) -> SeriesPage:
        """A trial's current points; an unknown trial has none."""
        pages = await self._pages(ask, (query.trial_id,), query)
        return pages[0]

    async def on_compare(self, ask: RequestContext, query: CompareTrials) -> SeriesPages:
        """The series of several trials side by side, in the order asked."""
        if len(query.trials) > TRIALS_PER_COMPARE:
            raise Rejected("trials_too_many", f"at most {TRIALS_PER_COMPARE} trials are compared at once")
        return SeriesPages(trials=await self._pages(ask, query.trials, query))

    async def on_summaries(self, ask: RequestContext, query: GetSummaries) -> TrialSummaries:
        """Each metric of a trial in one row."""
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
        """What a trial's script has reported behind a place; an unknown trial has reported nothing."""
        asked = TrialReportCursor(trial_id=query.trial_id, after=query.after)
        return (await self._reported(ask, (asked,), query, MetricSelection()))[0]

    async def on_reported_by_trials(
        self, ask: RequestContext, query: GetReportedByTrials
    ) -> ReportedByTrials:
        """The same of several trials, read together."""
        if len(query.trials) > TRIALS_PER_COMPARE:
            raise Rejected("trials_too_many", f"at most {TRIALS_PER_COMPARE} trials are read at once")
        which = MetricSelection(query.group, query.names)
        return ReportedByTrials(trials=await self._reported(ask, query.trials, query, which))

    async def on_curves(self, ask: RequestContext, query: GetCurves) -> Curves:
        """How earlier runs of a code went."""
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
            return await self._ends(ask, [one.trial_id for one in asked], which)
        places = {one.trial_id: ReadPosition(*one.after.model_dump().values()) for one in asked}
        most = max(1, min(query.limit, POINTS_PER_ANSWER) // max(1, len(asked)))
        async with self._units.tenant(ask.tenant) as unit:
            behind: dict[UUID, tuple[int, int]] = {t: (p.run, p.step) for t, p in places.items()}
            found = await series.load_reported(unit.connection, behind, which)
            missed = {t: p for t, p in places.items() if has_missed(found[t], p)}
            behind = {t: (p.run, EVERY_STEP[0]) for t, p in missed.items()}
            whole = await series.load_reported(unit.connection, behind, which)
        for trial, place in missed.items():
            found[trial], places[trial] = whole[trial], recount(whole[trial], place)
        return tuple(_told(*choose_new(found[one.trial_id], places[one.trial_id], most)) for one in asked)

    async def _ends(
        self, ask: RequestContext, trials: Sequence[TrialId], which: MetricSelection
    ) -> tuple[ReportedPoints, ...]:
        async with self._units.tenant(ask.tenant) as unit:
            ends = await series.load_latest_positions(unit.connection, trials, which)
        return tuple(_told([], ends.get(trial, ReadPosition()), is_last=True) for trial in trials)

    async def _pages(
        self,
        ask: RequestContext,
        wanted: tuple[TrialId, ...],
        query: GetSeries | CompareTrials,
    ) -> tuple[SeriesPage, ...]:
        most = query.max_points
        if most is not None and most < 1:
            raise Rejected("bad_request", "max_points is at least 1", place="max_points")
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
    """A part of the steps is read point by point: who looks closer wants more than the roll-ups hold."""
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


def _told(told: Sequence[StoredPoint], end: ReadPosition, is_last: bool) -> ReportedPoints:
    return ReportedPoints(
        points=tuple(ReportedPoint(**_named(one)) for one in told),
        end=ReportCursor(run_number=end.run, record=end.record, step=end.step, count=end.count),
        is_last=is_last,
    )


def _named(told: StoredPoint) -> dict[str, Any]:
    fields = told._asdict()
    return {"run_number": fields.pop("run"), **fields}
