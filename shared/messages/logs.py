"""Logs as they are read back, by cursor."""

from typing import Literal

from pydantic import BaseModel

from shared.ids import TrialId
from shared.messages.base import Query, Record


class StoredLine(Record):
    cursor: int
    run_number: int
    rank: int
    stream: str
    level: str | None = None
    time_ms: int
    text: str


class LogPage(BaseModel):
    """`next` is the cursor after the last line given; `ended` says that no more can come."""

    lines: tuple[StoredLine, ...]
    next: int
    ended: bool = False


class GetLogs(Query[LogPage], owner="registry", name="logs"):
    trial_id: TrialId
    after: int = 0
    limit: int = 1000
    rank: int | None = None
    run_number: int | None = None
    contains: str | None = None
    stream: Literal["stdout", "stderr", "platform"] | None = None
    tail: int | None = None
