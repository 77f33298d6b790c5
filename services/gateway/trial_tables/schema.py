"""The table of an experiment's trials as users see it."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, PageRequest, Reference, Request, Resource

Expression = Annotated[str, Field(max_length=4000)]
ColumnName = Annotated[str, Field(min_length=1, max_length=600)]


class TableRow(Resource):
    """One trial with the cells of the columns that were asked for."""

    trial: UUID
    experiment_number: int
    number: int = Field(description="Its number within the experiment.")
    state: str | None = None
    values: JsonObject = Field(
        description="By column; null where the trial has no such value. What is no finite number is a word: `NaN`, `Infinity` or `-Infinity`."
    )


class TrialTable(Resource):
    """A page of a table of trials."""

    columns: list[str] = Field(description="The columns' names, as they were asked for.")
    items: list[TableRow]
    total: int | None = Field(default=None, description="How many trials meet the filter; on the first page.")
    next_cursor: str | None = None


class TrialTableRequest(PageRequest):
    """The trials of one experiment that meet a filter, in an order.

    Columns are `number`, `state`, `invalid`, `runs`, `created`, `ended`, `best` (the search's metric at its best), `hparams.NAME` and
    `metrics.GROUP.NAME.STAT` with `count`, `min`, `max`, `mean`, `last`, `last_step` or `best`; a part with other characters stands in
    double quotes.
    """

    experiment: Reference
    filter: Expression = Field(
        default="",
        description="Such as `metrics.validation.accuracy.max > 0.9 and (hparams.lr < 0.01 or state in (completed, stopped))`: "
        "`= != < <= > >=`, `in (…)`, `contains`, `is absent`, `and`, `or`, `not`. A value that a trial has not meets no comparison.",
    )
    sort: Expression = Field(
        default="",
        description="Up to four columns separated by commas, the greatest first behind `-`; a `best` stands with the best first. "
        "Values that a trial has not come last, ties are by number.",
    )
    column: Annotated[list[ColumnName], Field(max_length=64)] = Field(
        default=[], description="Without any: the hyperparameters, and the search's metric."
    )


class TableColumns(Resource):
    """What there is to filter, sort and show by; metrics without their stat."""

    columns: list[str]
    next_cursor: str | None = Field(default=None, description="There are more names.")


class TableColumnsRequest(Request):
    """The names of one experiment's table."""

    experiment: Reference
    cursor: Annotated[str | None, Field(max_length=1000)] = None
