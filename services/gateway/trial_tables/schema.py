"""Requests and responses for the table of an experiment's trials."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, PageRequest, Reference, Request, Resource

Expression = Annotated[str, Field(max_length=4000)]
ColumnName = Annotated[str, Field(min_length=1, max_length=600)]


class TableRow(Resource):
    """One trial with the values of the requested columns."""

    trial: UUID
    experiment_number: int
    number: int = Field(description="The trial's number within the experiment.")
    state: str | None = None
    values: JsonObject = Field(
        description="Values by column; null if the trial has no such value. Numbers that are not finite are the strings `NaN`, `Infinity` and `-Infinity`."
    )


class TrialTable(Resource):
    """A page of a table of trials."""

    columns: list[str] = Field(description="Names of the columns, in the requested order.")
    items: list[TableRow]
    total: int | None = Field(
        default=None, description="Number of trials that match the filter; on the first page only."
    )
    next_cursor: str | None = None


class TrialTableRequest(PageRequest):
    """A filter, an order and columns for the trials of one experiment.

    Columns are `number`, `state`, `invalid`, `runs`, `created`, `ended`, `best` (the best value of the search's metric), `hparams.NAME`
    and `metrics.GROUP.NAME.STAT`, where STAT is `count`, `min`, `max`, `mean`, `last`, `last_step` or `best`. Put name segments with other
    characters in double quotes.
    """

    experiment: Reference
    filter: Expression = Field(
        default="",
        description="Such as `metrics.validation.accuracy.max > 0.9 and (hparams.lr < 0.01 or state in (completed, stopped))`: "
        "`= != < <= > >=`, `in (…)`, `contains`, `is absent`, `and`, `or`, `not`. A missing value matches no comparison.",
    )
    sort: Expression = Field(
        default="",
        description="Up to four columns, separated by commas. A leading `-` sorts in descending order; a `best` column sorts the best value first. "
        "Missing values come last; ties are ordered by trial number.",
    )
    column: Annotated[list[ColumnName], Field(max_length=64)] = Field(
        default=[], description="Columns to return. Default: the hyperparameters and the search's metric."
    )


class TableColumns(Resource):
    """Names of the available columns. Metric columns are listed without their statistic."""

    columns: list[str]
    next_cursor: str | None = Field(
        default=None, description="Cursor of the next page, if there are more names."
    )


class TableColumnsRequest(Request):
    """The columns of one experiment's trial table."""

    experiment: Reference
    cursor: Annotated[str | None, Field(max_length=1000)] = None
