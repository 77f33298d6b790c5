"""One action on many experiments: those that are named, or those that a filter met when somebody looked."""

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
    """What is done with each of them, as the operation on one does it."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    KILL = "kill"
    FINISH = "finish"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


class PreviewExperimentsRequest(Request):
    """The experiments that the caller may change and that a filter meets: of the usual list, or of the archived ones."""

    listing: ClassVar[Listing] = ListExperimentsRequest.listing

    filter: Annotated[str, Field(min_length=1, max_length=4000)] = Field(
        description="As of the list of experiments, such as `state = paused and owner = ada`."
    )
    archived: bool = Field(default=False, description="True looks at the archived ones instead.")


class ExperimentSelection(Resource):
    """What a filter meets now, and the word by which just these can be acted on."""

    count: int
    sample: list[Experiment] = Field(description="The newest of them, ten at most.")
    selection: str | None = Field(
        default=None,
        description="For the action: good for the caller, for ten minutes, while the filter meets the same. "
        "None where it meets nothing, or more than 500.",
    )
    expires_at: datetime


class ActOnExperimentsRequest(Request):
    """Either experiments by their numbers or ids, all of which must be there, or a selection that was looked at."""

    action: BulkAction
    experiments: Annotated[list[Reference], Field(max_length=MOST_NAMED)] = []
    selection: Annotated[str | None, Field(max_length=8000)] = Field(
        default=None,
        description="Of `GET /v1/bulk/experiments`: refused where the filter meets others by now.",
    )


class BulkItem(Resource):
    """What came of the action on one of them."""

    experiment: UUID
    number: int
    state: OperationState = Field(
        description="done: it is so; refused: it cannot; running: it takes longer than a request waits."
    )
    operation: UUID | None = Field(default=None, description="Where it is running: to be looked at.")
    code: str | None = Field(default=None, description="Where it was refused: the stable word of the reason.")
    message: str | None = None


class BulkOutcome(Resource):
    """What came of the action, by the experiments' numbers."""

    items: list[BulkItem]
