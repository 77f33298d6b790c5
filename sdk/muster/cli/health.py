"""`muster health`: whether the platform works, as its gateway sees it."""

import sys

from muster.cli.base.output import emit, note, table

DEGRADED = 6
"""As for what is not reachable or busy: try again later."""


def health() -> None:
    """Show whether the platform works; exit code 6 while it is degraded."""
    from muster.client import connect

    with connect() as client:
        found = client.platform_health()
    columns = ("service", "check", "state", "since", "reason")
    rows = [
        (one.service, one.name, "ok" if one.ok else "failing", one.since, one.reason) for one in found.checks
    ]

    def show() -> None:
        if found.summary:
            note("[yellow]{}:[/] {}", found.state, found.summary)
        else:
            note("{}: everything that is checked works", found.state)
        if rows:
            table(columns, rows, "")

    emit(found, show)
    if found.state != "ok":
        sys.exit(DEGRADED)
