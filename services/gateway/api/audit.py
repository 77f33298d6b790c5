"""The audit log as users see it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.api.base import JsonObject, PageRequest, Resource

Word = Annotated[str, Field(min_length=1, max_length=300)]


class AuditOutcome(StrEnum):
    """Whether the caller might."""

    ALLOWED = "allowed"
    DENIED = "denied"


class AuditRecord(Resource):
    """Who did what, or was refused it, from where, and what it changed."""

    sequence: int = Field(description="From 1 on, without a gap.")
    at: datetime
    id: UUID
    actor: str | None = Field(default=None, description="The name of who called; none for an unknown token.")
    user: UUID | None = None
    token: UUID | None = None
    operation: str | None = None
    entity: str | None = Field(default=None, description="What it was about, as `experiment/31`.")
    path: dict[str, str] = Field(default={}, description="What the path named, as it was written.")
    asked: JsonObject | None = Field(default=None, description="What else was asked, without secrets.")
    before: JsonObject | None = None
    after: JsonObject | None = None
    outcome: AuditOutcome
    code: str | None = Field(default=None, description="Why it was denied, or a word on how it went.")
    count: int = Field(default=1, description="How often within a second; more than 1 for denials only.")
    address: str | None = None
    agent: str | None = None
    protocol: str | None = None
    trace_id: str | None = None
    hash: str = Field(description="Of the chain up to and with this record.")


class AuditPage(Resource):
    """Newest first."""

    items: list[AuditRecord]
    next_cursor: str | None = None


class ListAuditRequest(PageRequest):
    """Which records; all that is given must hold."""

    actor: Word | None = None
    operation: Word | None = None
    entity: Word | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = Field(default=None, description="Before that.")
