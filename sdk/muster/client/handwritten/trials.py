"""Trials: lists them by state, and returns the best ones and the columns of the table."""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment

INVALID = "invalid"
"""Beside the states: what its script called so."""


class HandwrittenTrials(APIResource):
    """The methods of `client.trials` that are not generated."""

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
        query = query_params(
            state=[state for state in states if state != INVALID],
            invalid=INVALID in states if states else None,
            order="best" if best_first else "number",
            filter=filter,
            sort=sort,
        )
        return pages(self._transport, models.TrialPage, f"{_of(experiment)}/trials", query)

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
        query = query_params(filter=filter, sort=sort, column=shown)
        return pages(self._transport, models.TrialTable, f"{_of(experiment)}/table", query).first(count)


def _of(experiment: Reference) -> str:
    return f"/v1/experiments/{segment(experiment)}"
