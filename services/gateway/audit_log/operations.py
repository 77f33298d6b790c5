"""Read, export and verify the audit logs of a tenant and of the site."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from muster.audit import START, Anchor, Break, check_anchors, check_end, check_record, to_line
from muster.errors import Rejected
from services.gateway.audit_log.schema import (
    AuditHead,
    AuditLine,
    AuditPage,
    AuditRecord,
    AuditVerification,
    ExportAuditRequest,
    ListAuditRequest,
    VerifyAuditRequest,
)
from services.gateway.platform.audit import store
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import AUDITED_READ, SAFE
from services.gateway.platform.schema import Empty
from shared.ids import SITE, TenantId

_BATCH = 500
_BATCHES = 100
"""Maximum number of batches in one verification response."""


async def list_audit(call: Call, request: ListAuditRequest) -> AuditPage:
    """List audit records of the caller's tenant, newest first by default. A record appears within two seconds."""
    return await _list(call, request, call.tenant)


async def list_site_audit(call: Call, request: ListAuditRequest) -> AuditPage:
    """List audit records of the site: changes of machines, pools, limits and tenants, and requests with unknown tokens."""
    return await _list(call, request, SITE)


def export_audit(call: Call, request: ExportAuditRequest) -> AsyncIterator[AuditLine]:
    """Stream the sealed audit chain of the caller's tenant as lines of JSON, in order and without gaps."""
    return _export(call, request, call.tenant)


def export_site_audit(call: Call, request: ExportAuditRequest) -> AsyncIterator[AuditLine]:
    """Stream the sealed audit chain of the site as lines of JSON, in order and without gaps."""
    return _export(call, request, SITE)


async def verify_audit(call: Call, request: VerifyAuditRequest) -> AuditVerification:
    """Rehash part of the audit chain of the caller's tenant and report the first broken record."""
    return await _verify(call, request.after, call.tenant)


async def verify_site_audit(call: Call, request: VerifyAuditRequest) -> AuditVerification:
    """Rehash part of the audit chain of the site and report the first broken record."""
    return await _verify(call, request.after, SITE)


async def get_audit_head(call: Call, request: Empty) -> AuditHead:
    """Show the latest sealed record of the caller's tenant, to store outside Muster."""
    return await _head(call, call.tenant)


async def get_site_audit_head(call: Call, request: Empty) -> AuditHead:
    """Show the latest sealed record of the site, to store outside Muster."""
    return await _head(call, SITE)


async def _list(call: Call, request: ListAuditRequest, tenant: TenantId) -> AuditPage:
    wanted = read_wanted(call, request)
    given = request.model_dump(
        mode="json", include={"actor", "operation", "entity", "outcome"}, exclude_none=True
    )
    since, until = _aware(request.since), _aware(request.until)
    async with call.dependencies.database.read(tenant) as connection:
        found = await store.load_records(connection, tenant, given, since, until, wanted)
    return AuditPage(
        items=[_render(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def _export(call: Call, request: ExportAuditRequest, tenant: TenantId) -> AsyncIterator[AuditLine]:
    after = max(request.after, _sequence(call.last_event_id))
    async with call.dependencies.database.read(tenant) as connection:
        last = (await store.load_head(connection, tenant)).sequence
        if request.since is not None or request.until is not None:
            bounds = await store.load_bounds(connection, tenant, _aware(request.since), _aware(request.until))
            after, last = max(after, bounds[0] - 1), min(last, bounds[1])
        previous = await store.load_hash(connection, tenant, after) if after else START
    while after < last:
        async with call.dependencies.database.read(tenant) as connection:
            rows = await store.load_texts(connection, tenant, after, last, _BATCH)
        for row in rows:
            yield AuditLine(line=to_line(row.text, previous or START, row.hash), cursor=str(row.sequence))
            previous = row.hash
        # Gaps are left to the verifier of the exported file.
        after = rows[-1].sequence if rows else last


async def _verify(call: Call, after: int, tenant: TenantId) -> AuditVerification:
    async with call.dependencies.database.read(tenant) as connection:
        follows = await store.load_hash(connection, tenant, after) if after else START
    if follows is None:
        return AuditVerification(
            sequence=0, complete=True, broken_at=after, broken_by=f"there is no record {after}"
        )
    anchor = Anchor(after, follows)
    kept = call.dependencies.anchors
    # Before the records: an anchor is stored after its record is committed.
    anchors = await kept.load(tenant, after, after + _BATCH * _BATCHES) if kept is not None else None
    compared = anchors or {}
    for _ in range(_BATCHES):
        async with call.dependencies.database.read(tenant) as connection:
            rows = await store.load_texts(connection, tenant, anchor.sequence, None, _BATCH)
        anchor, broken = await asyncio.to_thread(_check, anchor, rows, str(tenant), compared)
        if broken is None and len(rows) < _BATCH:
            broken = _check_end(anchor, compared)
        if broken is not None or len(rows) < _BATCH:
            break
    return AuditVerification(
        follows=follows.hex(),
        sequence=anchor.sequence,
        hash=anchor.hash.hex(),
        complete=broken is not None or len(rows) < _BATCH,
        broken_at=broken.sequence if broken else None,
        broken_by=broken.what if broken else None,
        anchors=_count(anchors, after + _BATCH * _BATCHES) if anchors is not None else None,
        broken_anchor=kept.describe(tenant, broken.anchor) if broken and broken.anchor and kept else None,
    )


async def _head(call: Call, tenant: TenantId) -> AuditHead:
    async with call.dependencies.database.read(tenant) as connection:
        head = await store.load_head(connection, tenant)
    return AuditHead(tenant=tenant, sequence=head.sequence, hash=head.hash.hex())


def _check(
    anchor: Anchor, rows: Sequence[Any], tenant: str, anchors: Mapping[int, Sequence[Anchor]]
) -> tuple[Anchor, Break | None]:
    """Return the last valid record, and what breaks the chain after it."""
    for row in rows:
        found = check_record(anchor, row.text, row.hash, tenant)
        if not isinstance(found, Break):
            found = check_anchors(found, anchors.get(found.sequence, ()))
        if isinstance(found, Break):
            return anchor, found
        anchor = found
    return anchor, None


def _count(anchors: Mapping[int, Sequence[Anchor]], last: int) -> int:
    """Return the number of anchors up to the last sequence of the response: the first beyond it counts in the next one."""
    return sum(len(ones) for sequence, ones in anchors.items() if sequence <= last)


def _check_end(head: Anchor, anchors: Mapping[int, Sequence[Anchor]]) -> Break | None:
    """Return the break if an anchor is after the last record."""
    beyond = [one for ones in anchors.values() for one in ones if one.sequence > head.sequence]
    return check_end(head, beyond)


def _sequence(cursor: str | None) -> int:
    """Parse the id of an exported line. Raises Rejected."""
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 18:
        raise Rejected("cursor_invalid", f"{cursor!r} is not the id of an audit log line", "Last-Event-ID")
    return int(cursor)


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _render(row: Any) -> AuditRecord:
    return AuditRecord.model_validate(row.record | {"sequence": row.sequence, "hash": row.hash.hex()})


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListAudit", "GET", "/v1/audit", ListAuditRequest, AuditPage, Permission.AUDIT_READ, SAFE, list_audit),
    Operation("ExportAudit", "GET", "/v1/audit/export", ExportAuditRequest, AuditLine, Permission.AUDIT_READ, SAFE, export_audit, stream="server", audited=AUDITED_READ),
    Operation("VerifyAudit", "GET", "/v1/audit/verification", VerifyAuditRequest, AuditVerification, Permission.AUDIT_READ, SAFE, verify_audit),
    Operation("GetAuditHead", "GET", "/v1/audit/head", Empty, AuditHead, Permission.AUDIT_READ, SAFE, get_audit_head),
    Operation("ListSiteAudit", "GET", "/v1/site/audit", ListAuditRequest, AuditPage, Permission.SITE_AUDIT, SAFE, list_site_audit),
    Operation("ExportSiteAudit", "GET", "/v1/site/audit/export", ExportAuditRequest, AuditLine, Permission.SITE_AUDIT, SAFE, export_site_audit, stream="server", audited=AUDITED_READ),
    Operation("VerifySiteAudit", "GET", "/v1/site/audit/verification", VerifyAuditRequest, AuditVerification, Permission.SITE_AUDIT, SAFE, verify_site_audit),
    Operation("GetSiteAuditHead", "GET", "/v1/site/audit/head", Empty, AuditHead, Permission.SITE_AUDIT, SAFE, get_site_audit_head),
)
# fmt: on
