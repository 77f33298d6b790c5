"""API schema of the audit log."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.audit.records import AuditOutcome
from services.gateway.platform.schema import JsonObject, ListRequest, Request, Resource
from shared.filters.fields import Listing

FilterValue = Annotated[str, Field(min_length=1, max_length=300)]


class AuditRecord(Resource):
    """One audited request: caller, operation, entity, outcome, origin and change."""

    sequence: int = Field(description="Starts at 1; has no gaps.")
    at: datetime
    id: UUID
    actor: str | None = Field(default=None, description="Name of the caller; null for an unknown token.")
    user: UUID | None = None
    token: UUID | None = None
    operation: str | None = None
    entity: str | None = Field(default=None, description="Affected entity, such as `experiment/31`.")
    path: dict[str, str] = Field(default={}, description="Path parameters as the caller sent them.")
    asked: JsonObject | None = Field(default=None, description="Other request fields, without secrets.")
    before: JsonObject | None = None
    after: JsonObject | None = None
    outcome: AuditOutcome
    code: str | None = Field(
        default=None, description="Error code of a denied request, or a code that describes the result."
    )
    count: int = Field(
        default=1, description="Number of occurrences within one second; greater than 1 only for denials."
    )
    address: str | None = None
    agent: str | None = None
    protocol: str | None = None
    trace_id: str | None = None
    hash: str = Field(description="Hash of the chain up to and including this record.")


class AuditPage(Resource):
    """A page of audit records, newest first."""

    items: list[AuditRecord]
    next_cursor: str | None = None


class ListAuditRequest(ListRequest):
    """Filters for audit records; a record must match all of them."""

    listing = Listing.of(
        AuditRecord,
        *("sequence", "at", "actor", "operation", "entity", "outcome", "code", "count"),
        *("address", "agent", "protocol", "trace_id"),
        default_order="-sequence",
    )

    actor: FilterValue | None = None
    operation: FilterValue | None = None
    entity: FilterValue | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = Field(default=None, description="End of the period, exclusive.")


class ExportAuditRequest(Request):
    """The part of the chain to export. The export has no gaps, so it can be verified."""

    since: datetime | None = None
    until: datetime | None = Field(
        default=None,
        description="End of the period, exclusive. The export is contiguous: it includes every record between the first and the last match.",
    )
    after: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Export only records after this sequence number."
    )


class AuditLine(Resource):
    """One record as a line of JSON, with the previous hash and its own hash."""

    line: str
    cursor: str = Field(
        description="Sequence number of the record. Send it as Last-Event-ID to resume after it."
    )


class AuditHead(Resource):
    """The latest record of a chain. Store it outside Muster to prove later that no earlier record was changed or removed."""

    tenant: UUID = Field(description="Tenant of the chain; the site has an id of its own.")
    sequence: int = Field(description="0 if no record is sealed yet.")
    hash: str


class VerifyAuditRequest(Request):
    """Where to start. One response covers part of a long chain; start the next request at its `sequence`."""

    after: Annotated[int, Field(ge=0)] = 0


class AuditVerification(Resource):
    """Result of rehashing every record in part of a chain."""

    follows: str | None = Field(
        default=None,
        description="Hash before the first verified record; null if record `after` does not exist.",
    )
    sequence: int = Field(description="Sequence number of the last valid record.")
    hash: str | None = Field(default=None, description="Hash of the last valid record.")
    complete: bool = Field(description="False if records after `sequence` remain to be verified.")
    broken_at: int | None = Field(
        default=None, description="Sequence number of the first record that breaks the chain."
    )
    broken_by: str | None = None
    anchors: int | None = Field(
        default=None,
        description="Number of external anchors that were compared with this part of the chain; null if the site stores none.",
    )
    broken_anchor: str | None = Field(
        default=None, description="Object with the anchor that contradicts the chain; null if none does."
    )
