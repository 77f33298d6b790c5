"""`muster health`: the health of the platform, as reported by its gateway."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.output import emit, note, table, warn

if TYPE_CHECKING:
    from muster.client.models import PlatformHealth, ServiceCheck

DEGRADED = 6
"""Same exit code as for an unreachable or busy platform: retry later."""


def health(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every check of every service, for site operators.")
    ] = False,
) -> None:
    """Show the health of the platform; exit code 6 if it is degraded."""
    from muster.client import connect

    with connect() as client:
        found = client.platform_health()
    emit(found, lambda: _show(found, verbose))
    if found.state != "ok":
        sys.exit(DEGRADED)


def _show(found: "PlatformHealth", verbose: bool) -> None:
    listed = [one for one in found.checks if verbose or not one.ok]
    if found.summary:
        note("[yellow]{}:[/] {}", found.state, found.summary)
    else:
        note("{}: {}", found.state, _passing(found, verbose))
    warn(found.warnings)
    if listed:
        table(("service", "check", "state", "since", "reason"), map(_row, listed), "")


def _passing(found: "PlatformHealth", verbose: bool) -> str:
    if not found.checks:
        return "all checks pass"
    services = len({one.service for one in found.checks})
    more = "" if verbose else "; `muster health -v` lists them"
    return f"all {len(found.checks)} checks of {services} services pass{more}"


def _row(one: "ServiceCheck") -> tuple[object, ...]:
    return one.service, one.name, "ok" if one.ok else "failing", one.since, one.reason
