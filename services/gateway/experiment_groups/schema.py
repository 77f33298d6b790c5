"""API schema of experiment groups: the rows of a grouped list."""

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from services.gateway.experiments.schema import ListExperimentsRequest
from services.gateway.platform.schema import Expression, PageRequest, Resource
from shared.filters.fields import Listing


class ExperimentGrouping(StrEnum):
    """Field to group by, named as in filters."""

    OWNER = "owner"
    WORKSPACE = "workspace"
    PROJECT = "project"
    STATE = "state"
    SEARCHER = "searcher"
    METRIC = "metric"
    LABELS = "labels"


class ListExperimentGroupsRequest(PageRequest):
    """The field to group by, and a filter for experiments, archived or not."""

    listing: ClassVar[Listing] = ListExperimentsRequest.listing

    by: ExperimentGrouping
    filter: Expression = Field(
        default="", description="Filter expression as in the list of experiments; counts only matches."
    )
    archived: bool = Field(default=False, description="True counts archived experiments instead.")


class ExperimentGroup(Resource):
    """The experiments that share a value."""

    value: str | None = Field(description="Null for experiments without a value.")
    count: int = Field(
        description="Number of experiments. An experiment with several labels counts under each."
    )
    states: dict[str, int] = Field(
        description="Number of experiments by state; states without experiments are omitted."
    )


class ExperimentGroupPage(Resource):
    """A page of groups by value; the group without a value comes last."""

    items: list[ExperimentGroup]
    next_cursor: str | None = None
