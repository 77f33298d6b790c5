"""API schema of bulk actions on experiments, chosen by reference or by filter."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from services.gateway.experiments.schema import MOST_NAMED, Experiment, ListExperimentsRequest
from services.gateway.platform.commands.schema import OperationState
from services.gateway.platform.schema import Reference, Request, Resource
from shared.filters.fields import Listing

MOST_AT_ONCE = 500


class BulkAction(StrEnum):
    """The action to apply to each experiment; it works as the operation on a single experiment."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    KILL = "kill"
    FINISH = "finish"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


class PreviewExperimentsRequest(Request):
    """A filter for experiments that the caller may change, archived or not."""

    listing: ClassVar[Listing] = ListExperimentsRequest.listing

    filter: Annotated[str, Field(min_length=1, max_length=4000)] = Field(
        description="Filter expression as in the list of experiments, such as `state = paused and owner = ada`."
    )
    archived: bool = Field(default=False, description="True selects archived experiments instead.")


class ExperimentSelection(Resource):
    """The experiments that match a filter now, and a token to act on exactly these."""

    count: int
    sample: list[Experiment] = Field(description="The newest matches, at most ten.")
    selection: str | None = Field(
        default=None,
        description="Token for the action. It is valid for this caller for ten minutes, as long as the filter matches the same experiments. "
        "Null if the filter matches none, or more than 500.",
    )
    expires_at: datetime


class ActOnExperimentsRequest(Request):
    """Either experiments by number or id, all of which must exist, or a selection from `GET /v1/bulk/experiments`."""

    action: BulkAction
    experiments: Annotated[list[Reference], Field(max_length=MOST_NAMED)] = []
    selection: Annotated[str | None, Field(max_length=8000)] = Field(
        default=None,
        description="Token from `GET /v1/bulk/experiments`. The request is refused if the filter now matches other experiments.",
    )


class BulkItem(Resource):
    """Result of the action for one experiment."""

    experiment: UUID
    number: int
    state: OperationState = Field(
        description="done: the action took effect; refused: it cannot be applied; running: it takes longer than the request waits."
    )
    operation: UUID | None = Field(
        default=None, description="Id of the operation to poll if `state` is running."
    )
    code: str | None = Field(default=None, description="Error code if `state` is refused.")
    message: str | None = None


class BulkOutcome(Resource):
    """Results of the action, ordered by experiment number."""

    items: list[BulkItem]
