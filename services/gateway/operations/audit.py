"""The audit log, read: a tenant's by its auditors and admins, the site's by who keeps the site."""

from datetime import UTC, datetime
from typing import Any

from services.gateway.api.audit import AuditPage, AuditRecord, ListAuditRequest
from services.gateway.operations.call import Call
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.store import audit as store
from shared.ids import SITE, TenantId


async def list_audit(call: Call, request: ListAuditRequest) -> AuditPage:
    """Lists who did what in the caller's tenant, newest first; a record appears here within two seconds."""
    return await _list(call, request, call.tenant)


async def list_site_audit(call: Call, request: ListAuditRequest) -> AuditPage:
    """Lists who did what to the site: its machines, pools, limits and tenants; and refused tokens that nobody has."""
    return await _list(call, request, SITE)


async def _list(call: Call, request: ListAuditRequest, whose: TenantId) -> AuditPage:
    position = read_cursor(call, request, request.cursor)
    wanted = request.model_dump(
        mode="json", include={"actor", "operation", "entity", "outcome"}, exclude_none=True
    )
    async with call.doors.database.tenant(whose) as connection:
        rows = await store.load_records(
            connection,
            whose,
            wanted,
            _aware(request.since),
            _aware(request.until),
            int(str(position[0])) if position else None,
            request.limit + 1,
        )
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return AuditPage(
        items=[_render(row) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].sequence]) if more else None,
    )


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _render(row: Any) -> AuditRecord:
    return AuditRecord.model_validate(row.record | {"sequence": row.sequence, "hash": row.hash.hex()})
