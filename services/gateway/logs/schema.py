"""Log lines as users see them, and which of them they ask for."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import Reference, Request, Resource


class LogLine(Resource):
    """One line that a rank wrote."""

    cursor: str = Field(description="Give it as `after` to go on behind this line.")
    trial: UUID
    trial_number: int
    experiment_number: int | None = Field(
        default=None, description="Where lines of several experiments were looked for."
    )
    run: int
    rank: int
    stream: str = Field(description="stdout, stderr or platform.")
    level: str | None = None
    time: datetime
    text: str


class LogPage(Resource):
    """A page of log lines, oldest first; of an experiment, trial by trial."""

    items: list[LogLine]
    next_cursor: str | None = None


class LogStream(StrEnum):
    """Who wrote a line: a rank, or the platform about the run."""

    STDOUT = "stdout"
    STDERR = "stderr"
    PLATFORM = "platform"


class LogLevel(StrEnum):
    """How much a line matters, as it says itself in its first words."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LineFilter(Request):
    """Which lines."""

    rank: Annotated[int | None, Field(ge=0, le=100_000)] = None
    contains: Annotated[str | None, Field(max_length=200)] = None
    stream: LogStream | None = None
    pattern: Annotated[
        str | None,
        Field(max_length=500, description="A regular expression as for RE2, found anywhere in the line."),
    ] = None
    level: LogLevel | None = Field(
        default=None, description="At least so; lines that name no level are left out."
    )
    since: datetime | None = Field(default=None, description="Read by their worker then or later.")
    until: datetime | None = Field(default=None, description="Read by their worker before that.")


class LinePage(LineFilter):
    """How many of them at a time."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    cursor: Annotated[str | None, Field(max_length=1000)] = None


class LogFilter(LineFilter):
    """Which lines; with `tail` only so many of them, the last (of each trial)."""

    tail: Annotated[int | None, Field(ge=1, le=1000)] = None


class ListTrialLogsRequest(LogFilter, LinePage):
    """A page of the log of one trial, oldest line first. It may be empty and have a next one: it tells how far one request came."""

    trial: Reference


class ListExperimentLogsRequest(LogFilter, LinePage):
    """A page of the logs of all trials of an experiment, trial by trial. It may be empty and have a next one."""

    experiment: Reference


class FollowTrialLogsRequest(LogFilter):
    """The log of one trial, from behind `after` (a line's cursor) until the trial has ended."""

    trial: Reference
    after: Annotated[str | None, Field(max_length=1000)] = None


class FollowExperimentLogsRequest(LogFilter):
    """The logs of all trials of an experiment, from behind `after` until the experiment has ended."""

    experiment: Reference
    after: Annotated[str | None, Field(max_length=1000)] = None


class SearchLogsRequest(LinePage):
    """Lines of many trials that hold a text or match a pattern: of these experiments and trials, or of all that the caller's tenant has.

    The newest experiment comes first, its trials by number, a trial's lines in their order. A page may be empty and have a next one:
    it tells how far the search came in the time of one request.
    """

    experiment: Annotated[list[Reference], Field(max_length=100)] = []
    trial: Annotated[list[Reference], Field(max_length=100)] = []
