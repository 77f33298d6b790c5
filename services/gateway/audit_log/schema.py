"""The audit log as users see it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.audit.records import AuditOutcome
from services.gateway.platform.schema import JsonObject, ListRequest, Request, Resource
from shared.filters.fields import Listing

Word = Annotated[str, Field(min_length=1, max_length=300)]


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


class ListAuditRequest(ListRequest):
    """Which records; all that is given must hold."""

    listing = Listing.of(
        AuditRecord,
        *("sequence", "at", "actor", "operation", "entity", "outcome", "code", "count"),
        *("address", "agent", "protocol", "trace_id"),
        usual="-sequence",
    )

    actor: Word | None = None
    operation: Word | None = None
    entity: Word | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = Field(default=None, description="Before that.")


class ExportAuditRequest(Request):
    """Which part of the chain; whole records without a gap, so that it can be verified."""

    since: datetime | None = None
    until: datetime | None = Field(
        default=None,
        description="Before that. Of records sealed between others of the span the time does not matter.",
    )
    after: Annotated[int, Field(ge=0)] = Field(default=0, description="Only records behind this sequence.")


class AuditLine(Resource):
    """One record as a line of JSON, with the hash before it and its own."""

    line: str
    cursor: str = Field(description="Its sequence; a stream goes on behind it.")


class AuditHead(Resource):
    """How far a chain reaches; kept elsewhere, it proves later that nothing before it was changed or cut off."""

    tenant: UUID = Field(description="Whose chain it is; the site's has an id too.")
    sequence: int = Field(description="0 where nothing is sealed yet.")
    hash: str


class VerifyAuditRequest(Request):
    """From where on; one answer covers a part of a long chain, and the next begins behind it."""

    after: Annotated[int, Field(ge=0)] = 0


class AuditVerification(Resource):
    """What was found in a part of the chain, every record of which was hashed anew."""

    follows: str | None = Field(
        default=None, description="The hash before the first; none where there is no such record."
    )
    sequence: int = Field(description="The last record that is whole.")
    hash: str | None = Field(default=None, description="Of that record.")
    complete: bool = Field(description="False where more is to be verified behind it.")
    broken_at: int | None = Field(default=None, description="The first record that breaks the chain.")
    broken_by: str | None = None
