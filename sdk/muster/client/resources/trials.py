"""Trials with their runs, metrics and logs. A reference is an id, or `31.4` for trial 4 of experiment 31.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.trials` has the other methods.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.handwritten.trials import HandwrittenTrials
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, follow, pages
from muster.client.http.transport import Reference, segment


class Trials(HandwrittenTrials):
    """Trials with their runs, metrics and logs. A reference is an id, or `31.4` for trial 4 of experiment 31."""

    def get(self, trial: Reference) -> models.Trial:
        """Get one trial."""
        return self._transport.get(models.Trial, f"/v1/trials/{segment(trial)}")

    def kill(self, trial: Reference) -> models.Trial:
        """Kill a trial at once, without a final checkpoint. The search continues without it."""
        return self._transport.post(models.Trial, f"/v1/trials/{segment(trial)}/kill")

    def runs(self, trial: Reference, *, filter: str = "", sort: str = "") -> Items[models.Run]:
        """List the runs of a trial, oldest first unless `sort` is set.

        Args:
            filter: An expression over `number`, `state`, `outcome`, `exit_code`, `charged`, `pool`, `granted_at`,
                `ended_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.RunPage,
            f"/v1/trials/{segment(trial)}/runs",
            query_params(filter=filter, sort=sort),
        )

    def explain(self, trial: Reference) -> models.Explanation:
        """Explain why a trial waits, or where it runs."""
        return self._transport.get(models.Explanation, f"/v1/trials/{segment(trial)}/explanation")

    def table(
        self, experiment: Reference, *, columns: Sequence[str] = (), filter: str = "", sort: str = ""
    ) -> Items[models.TableRow]:
        """List an experiment's trials as a table with any metrics and hyperparameters as columns, filtered and sorted.

        Args:
            columns: Columns to return. Default: the hyperparameters and the search's metric.
            filter: Such as `metrics.validation.accuracy.max > 0.9 and (hparams.lr < 0.01 or state in (completed,
                stopped))`: `= != < <= > >=`, `in (…)`, `contains`, `is absent`, `and`, `or`, `not`. A missing value
                matches no comparison.
            sort: Up to four columns, separated by commas. A leading `-` sorts in descending order; a `best` column
                sorts the best value first. Missing values come last; ties are ordered by trial number.
        """
        return pages(
            self._transport,
            models.TrialTable,
            f"/v1/experiments/{segment(experiment)}/table",
            query_params(column=columns, filter=filter, sort=sort),
        )

    def phases(self, trial: Reference) -> models.TrialPhases:
        """Get the phases of a trial: queueing, preparation, training, checkpoints."""
        return self._transport.get(models.TrialPhases, f"/v1/trials/{segment(trial)}/phases")

    def phases_of(self, experiment: Reference) -> Items[models.TrialPhases]:
        """List the phases (queueing, preparation, training, checkpoints) of an experiment's trials, by trial number."""
        return pages(self._transport, models.TrialPhasesPage, f"/v1/experiments/{segment(experiment)}/phases")

    def metrics(
        self,
        trial: Reference,
        *,
        names: Sequence[str] = (),
        group: str | None = None,
        max_points: int = 1000,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> models.TrialMetrics:
        """Get the metrics of a trial by step.

        Args:
            first_step: Return only the steps from here to `last_step`, thinned separately: a narrower range shows
                more detail.
        """
        return self._transport.get(
            models.TrialMetrics,
            f"/v1/trials/{segment(trial)}/metrics",
            query_params(
                name=names, group=group, max_points=max_points, first_step=first_step, last_step=last_step
            ),
        )

    def follow_metrics(
        self,
        trial: Reference,
        *,
        names: Sequence[str] = (),
        group: str | None = None,
        after: str | None = None,
        from_now: bool = False,
    ) -> Iterator[models.ReportedValue]:
        """Stream the metrics that a trial reports, in order, until the trial ends.

        Args:
            from_now: Without `after`: only what comes from now on.
        """
        return follow(
            self._transport,
            models.ReportedValue,
            f"/v1/trials/{segment(trial)}/metrics/follow",
            query_params(name=names, group=group, from_now=from_now),
            after,
        )

    def summaries(self, trial: Reference) -> models.MetricSummaries:
        """Get summary statistics of all metrics of a trial."""
        return self._transport.get(models.MetricSummaries, f"/v1/trials/{segment(trial)}/summaries")

    def logs(
        self,
        trial: Reference,
        *,
        rank: int | None = None,
        contains: str | None = None,
        stream: str | None = None,
        pattern: str | None = None,
        level: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tail: int | None = None,
    ) -> Items[models.LogLine]:
        """List lines of a trial's log, oldest first.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: Regular expression (RE2 syntax) to match anywhere in the line.
            level: Minimum level. Lines without a level are omitted. One of debug, info, warning or error.
            since: Start of the period, inclusive, by the time at which the worker read the line.
            until: End of the period, exclusive, by the time at which the worker read the line.
        """
        return pages(
            self._transport,
            models.LogPage,
            f"/v1/trials/{segment(trial)}/logs",
            query_params(
                rank=rank,
                contains=contains,
                stream=stream,
                pattern=pattern,
                level=level,
                since=since,
                until=until,
                tail=tail,
            ),
        )

    def follow_logs(
        self,
        trial: Reference,
        *,
        rank: int | None = None,
        contains: str | None = None,
        stream: str | None = None,
        pattern: str | None = None,
        level: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tail: int | None = None,
        after: str | None = None,
    ) -> Iterator[models.LogLine]:
        """Stream a trial's log until the trial ends.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: Regular expression (RE2 syntax) to match anywhere in the line.
            level: Minimum level. Lines without a level are omitted. One of debug, info, warning or error.
            since: Start of the period, inclusive, by the time at which the worker read the line.
            until: End of the period, exclusive, by the time at which the worker read the line.
        """
        return follow(
            self._transport,
            models.LogLine,
            f"/v1/trials/{segment(trial)}/logs/follow",
            query_params(
                rank=rank,
                contains=contains,
                stream=stream,
                pattern=pattern,
                level=level,
                since=since,
                until=until,
                tail=tail,
            ),
            after,
        )


class AsyncTrials(AsyncAPIResource[Trials]):
    """`Trials`, awaited."""

    list = listed(Trials.list)
    columns_of = awaited(Trials.columns_of)
    best = awaited(Trials.best)
    get = awaited(Trials.get)
    kill = awaited(Trials.kill)
    runs = listed(Trials.runs)
    explain = awaited(Trials.explain)
    table = listed(Trials.table)
    phases = awaited(Trials.phases)
    phases_of = listed(Trials.phases_of)
    metrics = awaited(Trials.metrics)
    follow_metrics = streamed(Trials.follow_metrics)
    summaries = awaited(Trials.summaries)
    logs = listed(Trials.logs)
    follow_logs = streamed(Trials.follow_logs)
