"""`muster health`: the health of the platform, as reported by its gateway."""

import sys

from muster.cli.base.output import emit, note, table

DEGRADED = 6
"""Same exit code as for an unreachable or busy platform: retry later."""


def health() -> None:
    """Show the health of the platform; exit code 6 if it is degraded."""
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
            note("{}: all checks pass", found.state)
        if rows:
            table(columns, rows, "")

    emit(found, show)
    if found.state != "ok":
        sys.exit(DEGRADED)
