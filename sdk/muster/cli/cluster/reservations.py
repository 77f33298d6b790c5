"""`muster reservation`: slots reserved for a time window."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from muster._clock import now_ms
from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, note, warn
from muster.cli.cluster.render import slots_booked, utc_minute
from muster.cli.cluster.usage import moment_of
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import Reservation

_AHEAD = re.compile(r"(\+?)(\d{1,5})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOMENT = "now, a time (2026-11-01T08:00, UTC without a zone), or a time from now: +90m, +12h, +7d."
_END = "A time (2026-11-03T08:00, UTC without a zone), or a duration after the start: +90m, +12h, +7d."

app = NOUNS["reservation"].app

Name = Annotated[
    str, typer.Argument(metavar="RESERVATION", help="Id of the reservation, from `muster reservation list`.")
]


@verb(app, "create")
def create(
    slots: Annotated[int, typer.Option("--slots", min=1, help="Number of slots.")],
    until: Annotated[str, typer.Option("--until", help=_END)],
    begin: Annotated[str, typer.Option("--from", help=f"{_MOMENT} By default now.")] = "+0s",
    pool: Annotated[str, typer.Option("--pool", help="Pool of the slots.")] = "default",
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", help="Reserve for this workspace; by default for the whole tenant."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Name of the tenant; by default your own.")
    ] = None,
) -> None:
    """Reserve slots: during the window, only the tenant or workspace may use them."""
    from muster.client import connect

    begins_at = ahead_of(begin, "--from")
    window = (begins_at, ahead_of(until, "--until", begins_at))
    with connect() as client:
        found = client.cluster.create_reservation(pool, slots, *window, workspace=workspace, tenant=tenant)
    warn(found.warnings)
    emit(found, lambda: note("{}", _message(found)))


def ahead_of(given: str, option: str, since: datetime | None = None) -> datetime:
    """Parse a time; a leading `+` is relative to `since`, or else to now.

    Raises:
        Rejected: The text is not a time, or it is a duration without `+`.
    """
    hint = _END if since else _MOMENT
    ahead = _AHEAD.fullmatch(given)
    if ahead and not ahead[1]:
        raise Rejected("bad_moment", f"{given!r} is an age: write '+{given}' for a time ahead", option, hint)
    if ahead:
        since = since or datetime.fromtimestamp(now_ms() / 1000, UTC)
        return since + timedelta(**{_UNITS[ahead[3]]: int(ahead[2])})
    moment = moment_of(given, option, hint)
    assert moment is not None
    return moment


def _message(found: "Reservation") -> str:
    who = (
        f"workspace {found.workspace} of tenant {found.tenant}"
        if found.workspace
        else f"tenant {found.tenant}"
    )
    window = f"from {utc_minute(found.begins_at)} until {utc_minute(found.ends_at)} UTC"
    serve = "is" if found.slots == 1 else "are"
    return f"{slots_booked(found)} {serve} reserved for {who} {window} ({found.id})"
