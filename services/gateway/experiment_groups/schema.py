"""How many experiments share a value: the rows under which a list is gathered."""

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from services.gateway.experiments.schema import ListExperimentsRequest
from services.gateway.platform.schema import Expression, PageRequest, Resource
from shared.filters.fields import Listing


class ExperimentGrouping(StrEnum):
    """What experiments are gathered by, under its name in filters."""

    OWNER = "owner"
    WORKSPACE = "workspace"
    PROJECT = "project"
    STATE = "state"
    SEARCHER = "searcher"
    METRIC = "metric"
    LABELS = "labels"


class ListExperimentGroupsRequest(PageRequest):
    """The values that experiments have in one field: of the usual list, or of the archived ones."""

    listing: ClassVar[Listing] = ListExperimentsRequest.listing

    by: ExperimentGrouping
    filter: Expression = Field(
        default="", description="As of the list of experiments: only these are counted."
    )
    archived: bool = Field(default=False, description="True counts the archived ones instead.")


class ExperimentGroup(Resource):
    """The experiments that have one value."""

    value: str | None = Field(description="None: of those that have none.")
    count: int = Field(description="An experiment with several labels counts under each.")
    states: dict[str, int] = Field(
        description="How many of them are in which state; states of none are left out."
    )


class ExperimentGroupPage(Resource):
    """A page of groups in the order of their values, that of none last."""

    items: list[ExperimentGroup]
    next_cursor: str | None = None
