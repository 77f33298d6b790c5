"""Trials with their runs, metrics and logs. A reference is an id, or `31.4`: trial 4 of experiment 31.

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
    """Trials with their runs, metrics and logs. A reference is an id, or `31.4`: trial 4 of experiment 31."""

    def get(self, trial: Reference) -> models.Trial:
        """Shows one trial."""
        return self._transport.get(models.Trial, f"/v1/trials/{segment(trial)}")

    def kill(self, trial: Reference) -> models.Trial:
        """Ends a trial at once, without a last checkpoint; its search goes on without it."""
        return self._transport.post(models.Trial, f"/v1/trials/{segment(trial)}/kill")

    def runs(self, trial: Reference, *, filter: str = "", sort: str = "") -> Items[models.Run]:
        """Lists the attempts to train a trial, oldest first or as they are sorted.

        Args:
            filter: An expression over `number`, `state`, `outcome`, `exit_code`, `charged`, `pool`, `granted_at`,
                `ended_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.RunPage,
            f"/v1/trials/{segment(trial)}/runs",
            query_params(filter=filter, sort=sort),
        )

    def explain(self, trial: Reference) -> models.Explanation:
        """Says why a trial waits, or where it runs."""
        return self._transport.get(models.Explanation, f"/v1/trials/{segment(trial)}/explanation")

    def table(
        self, experiment: Reference, *, columns: Sequence[str] = (), filter: str = "", sort: str = ""
    ) -> Items[models.TableRow]:
        """Lists an experiment's trials with any of their metrics and hyperparameters, filtered and in any order.

        Args:
            columns: Without any: the hyperparameters, and the search's metric.
            filter: Such as `metrics.validation.accuracy.max > 0.9 and (hparams.lr < 0.01 or state in (completed,
                stopped))`: `= != < <= > >=`, `in (…)`, `contains`, `is absent`, `and`, `or`, `not`. A value that a
                trial has not meets no comparison.
            sort: Up to four columns separated by commas, the greatest first behind `-`; a `best` stands with the best
                first. Values that a trial has not come last, ties are by number.
        """
        return pages(
            self._transport,
            models.TrialTable,
            f"/v1/experiments/{segment(experiment)}/table",
            query_params(column=columns, filter=filter, sort=sort),
        )

    def phases(self, trial: Reference) -> models.TrialPhases:
        """Shows what a trial did when: waiting, getting ready, training, checkpoints."""
        return self._transport.get(models.TrialPhases, f"/v1/trials/{segment(trial)}/phases")

    def phases_of(self, experiment: Reference) -> Items[models.TrialPhases]:
        """Lists what an experiment's trials did when: waiting, getting ready, training, checkpoints; by number of the trial."""
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
        """Shows a trial's metrics by step.

        Args:
            first_step: Only the steps from here to `last_step`, thinned by themselves: who looks closer at a part
                sees more of it.
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
        """Streams what a trial reports, in the order of its reporting, until the trial has ended.

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
        """Shows every metric of a trial in numbers."""
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
        """Lists lines of a trial's log, oldest first.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: A regular expression as for RE2, found anywhere in the line.
            level: At least so; lines that name no level are left out. One of debug, info, warning or error.
            since: Read by their worker then or later.
            until: Read by their worker before that.
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
        """Streams a trial's log until the trial has ended.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: A regular expression as for RE2, found anywhere in the line.
            level: At least so; lines that name no level are left out. One of debug, info, warning or error.
            since: Read by their worker then or later.
            until: Read by their worker before that.
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
