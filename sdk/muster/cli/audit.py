"""`muster audit`: read, export and verify the audit log."""

import json
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Filter, OfSite, Sort
from muster.cli.base.output import emit, note, table
from muster.cli.command_table import NOUNS

if TYPE_CHECKING:
    from muster.audit import Anchor, Break
    from muster.client.models import AuditRecord, AuditVerification

app = NOUNS["audit"].app

Since = Annotated[datetime | None, typer.Option("--since", help="Only records since this time (UTC).")]
Until = Annotated[datetime | None, typer.Option("--until", help="Only records before this time (UTC).")]


@verb(app, "list")
def list_records(
    actor: Annotated[str | None, typer.Option("--actor", help="Only actions of this user.")] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", help="Only this operation, such as CreateExperiment.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", help="Only this resource, such as experiment/31.")
    ] = None,
    denied: Annotated[bool, typer.Option("--denied", help="Only denied requests.")] = False,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of records.")] = 50,
    site: OfSite = False,
    filter_: Filter = None,
    sort: Sort = None,
) -> None:
    """List audit records, newest first by default."""
    from muster.client import connect
    from muster.client.models import AuditOutcome

    with connect() as client:
        found = client.audit.list(
            actor=actor,
            operation=operation,
            entity=entity,
            outcome=AuditOutcome.DENIED if denied else None,
            since=since,
            until=until,
            site=site,
            filter=filter_ or "",
            sort=sort or "",
        ).first(limit)
    rows = (
        (one.sequence, one.at, one.actor, one.operation, one.entity, _outcome(one), one.address)
        for one in found
    )
    columns = ("record", "time", "actor", "operation", "entity", "outcome", "address")
    emit(found, lambda: table(columns, rows, "no audit records match"))


@verb(app, "export")
def export(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="File to write, which must not exist; by default stdout."),
    ] = None,
    since: Since = None,
    until: Until = None,
    after: Annotated[
        int, typer.Option("--after", min=0, help="Only records after this sequence number.")
    ] = 0,
    site: OfSite = False,
) -> None:
    """Export the log as JSON lines, oldest first; `muster audit verify FILE` verifies an export."""
    from muster.client import connect

    with connect() as client:
        lines = client.audit.export(since=since, until=until, after=after, site=site)
        count = 0
        with _opened(file) as target:
            for one in lines:
                target.write(one.line + "\n")
                count += 1
    note("{} records written", count)


@verb(app, "verify")
def verify(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Exported file to verify; by default the platform's log."),
    ] = None,
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", help="Earlier output of `muster audit head` that must still match."),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            "--anchors",
            metavar="FILE",
            help="Anchors that must still match: spans exported from OTLP, or other lines that contain anchors.",
        ),
    ] = None,
    site: OfSite = False,
) -> None:
    """Verify the hash chain of the log, and report the first changed record or the anchor that contradicts it."""
    from muster.audit import Anchor
    from muster.errors import Rejected

    try:
        kept = Anchor.parse(anchor) if anchor else None
    except ValueError as error:
        raise Rejected("invalid_anchor", str(error), "--anchor") from None
    found = _of_file(file, kept) if file else _of_platform(kept, site)
    if found.broken_at is None and anchors is not None:
        found = _with_anchors(found, anchors, file, site)
    if found.broken_at is not None:
        source = f" ({found.broken_anchor})" if found.broken_anchor else ""
        raise Rejected(
            "audit_broken",
            f"record {found.broken_at} breaks the chain: {found.broken_by}{source}",
            hint=f"records up to {found.sequence} are intact" if found.sequence else None,
        )
    compared = (
        "; it matches {} anchors" if found.anchors is not None else "; no external anchors were compared"
    )
    emit(found, lambda: note("intact up to {}:{}" + compared, found.sequence, found.hash, found.anchors))


def _opened(file: Path | None) -> AbstractContextManager[TextIO]:
    from muster.errors import Rejected

    if file is None:
        return nullcontext(sys.stdout)
    try:
        return file.open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise Rejected("unwritable", f"{file} cannot be created: {error.strerror}", "FILE") from error


def _of_platform(anchor: "Anchor | None", site: bool) -> "AuditVerification":
    from muster.client import connect

    with connect() as client:
        return client.audit.verify(anchor, site=site)


def _of_file(file: Path, anchor: "Anchor | None") -> "AuditVerification":
    from muster.audit import Anchor, Break, check_line
    from muster.client.models import AuditVerification
    from muster.errors import Rejected

    last: Anchor | None = None
    broken: Break | None = None
    met = anchor is None or anchor.sequence == 0
    try:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                found = check_line(last, line.rstrip("\n"))
                if isinstance(found, Break):
                    broken = found
                    break
                if anchor is not None and found.sequence == anchor.sequence:
                    met = True
                    if found != anchor:
                        broken = Break(found.sequence, "it differs from the anchor")
                        break
                last = found
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected("unreadable", f"{file} cannot be read: {error}", "FILE") from error
    if broken is None and not met:
        broken = Break(anchor.sequence if anchor else 0, "the file does not contain the anchor's record")
    last = last or Anchor()
    return AuditVerification(
        sequence=last.sequence,
        hash=last.hash.hex(),
        complete=True,
        broken_at=broken.sequence if broken else None,
        broken_by=broken.what if broken else None,
    )


def _with_anchors(
    found: "AuditVerification", anchors: Path, file: Path | None, site: bool
) -> "AuditVerification":
    """Compare the verified log with the anchors of its tenant in a file of any format."""
    from muster.audit import Anchor, check_end, find_anchors
    from muster.errors import Rejected

    try:
        with ExitStack() as stack:
            tenant, lines = _open_log(stack, file, site)
            with anchors.open(encoding="utf-8", errors="replace") as text:
                wanted = list(dict.fromkeys(find_anchors(text, tenant)))
            last, broken = _compare(lines, wanted)
    except (OSError, ValueError) as error:
        raise Rejected("unreadable", f"the anchors cannot be compared: {error}", "--anchors") from error
    if not wanted:
        raise Rejected(
            "no_anchors",
            f"{anchors} contains no anchor of tenant {tenant}",
            "--anchors",
            "an anchor is a sequence, a colon and 64 hexadecimal digits",
        )
    # An exported file may end before newer anchors; the platform's log may not.
    broken = broken or (check_end(last or Anchor(), wanted) if file is None else None)
    return found.model_copy(
        update={
            "anchors": len(wanted) + (found.anchors or 0),
            "broken_at": broken.sequence if broken else None,
            "broken_by": broken.what if broken else None,
            "broken_anchor": str(anchors) if broken and broken.anchor else None,
        }
    )


def _open_log(stack: ExitStack, file: Path | None, site: bool) -> tuple[str, Iterable[str]]:
    """Return the tenant of the log and its lines: of the exported file, else of the platform."""
    from muster.client import connect

    if file is None:
        client = stack.enter_context(connect())
        tenant = str(client.audit.head(site=site).tenant)
        return tenant, (one.line for one in client.audit.export(site=site))
    lines = (line.rstrip("\n") for line in stack.enter_context(file.open(encoding="utf-8", newline="\n")))
    first = next(lines, "{}")
    return str(json.loads(first).get("tenant", "")), chain([first], lines)


def _compare(lines: Iterable[str], anchors: "list[Anchor]") -> "tuple[Anchor | None, Break | None]":
    """Return the last valid record, and the first break or anchor that contradicts a record."""
    from muster.audit import Break, check_anchors, check_line

    by_sequence: dict[int, list[Anchor]] = {}
    for one in anchors:
        by_sequence.setdefault(one.sequence, []).append(one)
    last: Anchor | None = None
    for line in lines:
        found = check_line(last, line)
        if not isinstance(found, Break):
            found = check_anchors(found, by_sequence.get(found.sequence, ()))
        if isinstance(found, Break):
            return last, found
        last = found
    return last, None


def _outcome(one: "AuditRecord") -> str:
    times = f" {one.count} times" if one.count > 1 else ""
    code = f" ({one.code})" if one.code else ""
    return f"{one.outcome}{times}{code}"
