"""Convert the registry's metrics to API resources."""

from services.gateway.metrics import schema as metrics
from services.gateway.platform.json_values import finite, not_finite, to_time
from shared.messages.metrics import SeriesPage, TrialSummaries


def render_series(page: SeriesPage) -> metrics.TrialMetrics:
    series = [
        metrics.MetricSeries(
            group=one.group,
            name=one.name,
            count=one.count,
            points=[
                metrics.MetricPoint(
                    step=point.step,
                    time=to_time(point.time_ms),
                    run=point.run_number,
                    value=finite(point.value),
                    not_finite=not_finite(point.value),
                )
                for point in one.points
            ],
        )
        for one in page.series
    ]
    return metrics.TrialMetrics(trial=page.trial_id, series=series)


def render_summaries(found: TrialSummaries) -> metrics.MetricSummaries:
    summaries = [
        metrics.MetricSummary(
            group=one.group,
            name=one.name,
            count=one.count,
            min=finite(one.min),
            max=finite(one.max),
            mean=finite(one.mean),
            last=finite(one.last),
            last_not_finite=not_finite(one.last),
            last_step=one.last_step,
        )
        for one in found.metrics
    ]
    return metrics.MetricSummaries(trial=found.trial_id, metrics=summaries)
