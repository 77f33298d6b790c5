"""Trials with their runs, metrics and logs. A reference is an id, or `31.4`: trial 4 of experiment 31."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from muster.client import models
from muster.client.paging import (
    Items,
    LogFilter,
    ReportFilter,
    follow,
    log_query,
    ordered,
    pages,
    part,
    report_query,
)
from muster.client.transport import Query, Reference, Transport, segment

INVALID = "invalid"
"""Beside the states: what its script called so."""


class Trials:
    """The trials of the caller's tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        experiment: Reference,
        *,
        states: Sequence[str] = (),
        best_first: bool = False,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.Trial]:
        """Return an experiment's trials by number, by the search's metric, best first, or as they are sorted.

        Args:
            states: Only those; `invalid` is one of them here, and such a trial is not in `error`.
            filter: By what a trial shows of itself, such as `runs > 1`; `table` filters by metrics and hyperparameters too.
            sort: Up to four fields separated by commas, the greatest first behind `-`; not with `best_first`.
        """
        query: Query = {
            "state": [state for state in states if state != INVALID],
            "invalid": INVALID in states if states else None,
            "order": "best" if best_first else "number",
            **ordered(filter, sort),
        }
        return pages(self._transport, models.TrialPage, f"{_of(experiment)}/trials", query)

    def table(
        self, experiment: Reference, *, filter: str = "", sort: str = "", columns: Sequence[str] = ()
    ) -> Items[models.TableRow]:
        """Return an experiment's trials with any of their metrics and hyperparameters, those that meet a filter, in an order.

        Args:
            filter: Such as `metrics.validation.accuracy.max > 0.9 and hparams.lr < 0.01 and state = completed`.
            sort: Up to four columns separated by commas, the greatest first behind `-`; `best`: the best by the search's metric first.
            columns: `columns_of` tells the names; without any, the hyperparameters and the search's metric.
        """
        query: Query = {**ordered(filter, sort), "column": columns}
        return pages(self._transport, models.TrialTable, f"{_of(experiment)}/table", query)

    def columns_of(self, experiment: Reference) -> Sequence[str]:
        """Return the names by which an experiment's trials can be filtered, sorted and shown; metrics without their stat."""
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = self._transport.get(models.TableColumns, f"{_of(experiment)}/columns", {"cursor": cursor})
            found += page.columns
            cursor = page.next_cursor
            if cursor is None:
                return found

    def best(
        self,
        experiment: Reference,
        count: int = 10,
        *,
        metric: str | None = None,
        smaller_is_better: bool = True,
        filter: str = "",
        columns: Sequence[str] = (),
    ) -> Sequence[models.TableRow]:
        """Return the best trials by the search's metric, or by another, best first; without a value a trial is last.

        Args:
            metric: Group and name, such as `validation.f1`; then `smaller_is_better` says which values are better.
        """
        sort = "best"
        if metric is not None:
            sort = f"metrics.{metric}.min" if smaller_is_better else f"-metrics.{metric}.max"
        shown = columns if columns or metric is None else ("state", sort.removeprefix("-"))
        return self.table(experiment, filter=filter, sort=sort, columns=shown).first(count)

    def get(self, trial: Reference) -> models.Trial:
        """Return one trial."""
        return self._transport.get(models.Trial, _path(trial))

    def kill(self, trial: Reference) -> models.Trial:
        """End one trial at once, without a last checkpoint; its search goes on without it, and never runs it again.

        Raises:
            Conflict: It has ended by itself already.
        """
        return self._transport.post(models.Trial, f"{_path(trial)}/kill", {})

    def runs(self, trial: Reference, *, filter: str = "", sort: str = "") -> Items[models.Run]:
        """Return the attempts to train a trial, oldest first or as they are sorted; `filter` as `outcome = failed and charged = true`."""
        return pages(self._transport, models.RunPage, f"{_path(trial)}/runs", ordered(filter, sort))

    def phases(self, trial: Reference) -> models.TrialPhases:
        """Return what a trial did when: waiting, getting ready, training, and its checkpoints within that."""
        return self._transport.get(models.TrialPhases, f"{_path(trial)}/phases")

    def phases_of(self, experiment: Reference) -> Items[models.TrialPhases]:
        """Return the same of each of an experiment's trials, by number."""
        return pages(self._transport, models.TrialPhasesPage, f"{_of(experiment)}/phases")

    def explain(self, trial: Reference) -> models.Explanation:
        """Return why a trial waits, or that it runs or is over."""
        return self._transport.get(models.Explanation, f"{_path(trial)}/explanation")

    def metrics(
        self,
        trial: Reference,
        *,
        names: Sequence[str] = (),
        group: str | None = None,
        max_points: int = 1000,
        steps: tuple[int | None, int | None] = (None, None),
    ) -> models.TrialMetrics:
        """Return a trial's metrics, each thinned to at most `max_points` that keep its shape; of the steps from the first to the last that are given."""
        query = {"name": names, "group": group, "max_points": max_points, **part(steps)}
        return self._transport.get(models.TrialMetrics, f"{_path(trial)}/metrics", query)

    def follow_metrics(
        self, trial: Reference, **wanted: Unpack[ReportFilter]
    ) -> Iterator[models.ReportedValue]:
        """Yield what a trial reports as it comes, without a gap over broken connections, until the trial has ended."""
        path, query = f"{_path(trial)}/metrics/follow", report_query(wanted)
        return follow(self._transport, models.ReportedValue, path, query, wanted.get("after"))

    def summaries(self, trial: Reference) -> models.MetricSummaries:
        """Return every metric of a trial in numbers: count, least, greatest, mean, last."""
        return self._transport.get(models.MetricSummaries, f"{_path(trial)}/summaries")

    def logs(self, trial: Reference, **wanted: Unpack[LogFilter]) -> Items[models.LogLine]:
        """Return a trial's log so far, oldest line first."""
        query = log_query(wanted, wanted.get("tail"))
        return pages(self._transport, models.LogPage, f"{_path(trial)}/logs", query)

    def follow_logs(self, trial: Reference, **wanted: Unpack[LogFilter]) -> Iterator[models.LogLine]:
        """Yield log lines as they come, without a gap over broken connections, until the trial has ended."""
        query = log_query(wanted, wanted.get("tail"))
        return follow(self._transport, models.LogLine, f"{_path(trial)}/logs/follow", query)


def _of(experiment: Reference) -> str:
    return f"/v1/experiments/{segment(experiment)}"


def _path(trial: Reference) -> str:
    return f"/v1/trials/{segment(trial)}"
