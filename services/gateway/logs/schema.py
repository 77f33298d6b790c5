"""API schema of logs and their filters."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import Reference, Request, Resource


class LogLine(Resource):
    """A log line of a rank."""

    cursor: str = Field(description="Send it as `after` to resume after this line.")
    trial: UUID
    trial_number: int
    experiment_number: int | None = Field(default=None, description="Set in searches across experiments.")
    run: int
    rank: int
    stream: str = Field(description="stdout, stderr or platform.")
    level: str | None = None
    time: datetime
    text: str


class LogPage(Resource):
    """A page of log lines, oldest first; for an experiment, trial by trial."""

    items: list[LogLine]
    next_cursor: str | None = None


class LogStream(StrEnum):
    """Source of a line: standard output or error of a rank, or the platform."""

    STDOUT = "stdout"
    STDERR = "stderr"
    PLATFORM = "platform"


class LogLevel(StrEnum):
    """Log level, as parsed from the beginning of the line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LineFilter(Request):
    """Filters for log lines."""

    rank: Annotated[int | None, Field(ge=0, le=100_000)] = None
    contains: Annotated[str | None, Field(max_length=200)] = None
    stream: LogStream | None = None
    pattern: Annotated[
        str | None,
        Field(max_length=500, description="Regular expression (RE2 syntax) to match anywhere in the line."),
    ] = None
    level: LogLevel | None = Field(
        default=None, description="Minimum level. Lines without a level are omitted."
    )
    since: datetime | None = Field(
        default=None,
        description="Start of the period, inclusive, by the time at which the worker read the line.",
    )
    until: datetime | None = Field(
        default=None,
        description="End of the period, exclusive, by the time at which the worker read the line.",
    )


class LinePage(LineFilter):
    """Paging of log lines."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    cursor: Annotated[str | None, Field(max_length=1000)] = None


class LogFilter(LineFilter):
    """Filters for log lines. `tail` limits the result to the last lines of each trial."""

    tail: Annotated[int | None, Field(ge=1, le=1000)] = None


class ListTrialLogsRequest(LogFilter, LinePage):
    """A page of a trial's log, oldest line first. A page may be empty and still have a `next_cursor`: each request searches for a limited time."""

    trial: Reference


class ListExperimentLogsRequest(LogFilter, LinePage):
    """A page of the logs of an experiment's trials, trial by trial. A page may be empty and still have a `next_cursor`."""

    experiment: Reference


class FollowTrialLogsRequest(LogFilter):
    """The log of one trial after the line with the cursor `after`, until the trial ends."""

    trial: Reference
    after: Annotated[str | None, Field(max_length=1000)] = None


class FollowExperimentLogsRequest(LogFilter):
    """The logs of an experiment's trials after the line with the cursor `after`, until the experiment ends."""

    experiment: Reference
    after: Annotated[str | None, Field(max_length=1000)] = None


class SearchLogsRequest(LinePage):
    """A search for log lines in the given experiments and trials; by default in all of the caller's tenant.

    Results are ordered by experiment, newest first, then by trial number and line. A page may be empty and still have a `next_cursor`:
    each request searches for a limited time.
    """

    experiment: Annotated[list[Reference], Field(max_length=100)] = []
    trial: Annotated[list[Reference], Field(max_length=100)] = []
