"""Trials: list them by state, and return the best ones and the table's columns."""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment

INVALID = "invalid"
"""State in lists, beside the stored states: rejected as invalid by the script."""


class HandwrittenTrials(APIResource):
    """Methods of `client.trials` that are not generated."""

    def list(
        self,
        experiment: Reference,
        *,
        states: Sequence[str] = (),
        best_first: bool = False,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.Trial]:
        """Return an experiment's trials by number, best first, or in the given sort order.

        Args:
            experiment: Number or id of the experiment.
            states: Only these states; `invalid` is a state here, and such trials are not in `error`.
            best_first: Sort by the search's metric, best first.
            filter: Filter by fields of a trial, such as `runs > 1`; use `table` to filter by metrics and hyperparameters.
            sort: Up to four fields separated by commas, with `-` for descending; not with `best_first`.
        """
        query = query_params(
            state=[state for state in states if state != INVALID],
            invalid=INVALID in states if states else None,
            order="best" if best_first else "number",
            filter=filter,
            sort=sort,
        )
        return pages(self._transport, models.TrialPage, f"{_of(experiment)}/trials", query)

    def columns_of(self, experiment: Reference) -> Sequence[str]:
        """Return the columns by which an experiment's trials can be filtered, sorted and shown; metrics without their statistic."""
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
        """Return the best trials by the search's metric or another one, best first; trials without a value come last.

        Args:
            experiment: Number or id of the experiment.
            count: Maximum number of trials.
            metric: Group and name, such as `validation.f1`, with its direction in `smaller_is_better`.
            smaller_is_better: Direction of `metric`.
            filter: Filter by any column.
            columns: Columns to return.
        """
        sort = "best"
        if metric is not None:
            sort = f"metrics.{metric}.min" if smaller_is_better else f"-metrics.{metric}.max"
        wanted = columns if columns or metric is None else ("state", sort.removeprefix("-"))
        query = query_params(filter=filter, sort=sort, column=wanted)
        return pages(self._transport, models.TrialTable, f"{_of(experiment)}/table", query).first(count)


def _of(experiment: Reference) -> str:
    return f"/v1/experiments/{segment(experiment)}"
