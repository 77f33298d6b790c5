"""`muster retention`: for how long a tenant and its workspaces keep metrics and logs."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.frame import verb
from muster.cli.base.output import emit, note, table, warn
from muster.cli.table import NOUNS

if TYPE_CHECKING:
    from muster.client.models import RetentionRule

app = NOUNS["retention"].app


@verb(app, "list")
def list_rules() -> None:
    """List what your tenant and its workspaces say; an experiment's `retention_policy` may say less."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.retention().items
    columns = ("workspace", ">all points", ">points", ">log lines")
    emit(found, lambda: table(columns, map(_cells, found), "nobody says so: as long as the site keeps them"))


@verb(app, "set")
def set_rule(
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", help="Of this one; by default of the whole tenant.")
    ] = None,
    detail_days: Annotated[
        int | None,
        typer.Option(
            "--detail-days", min=1, help="So long all points; then a sixteenth that keeps the shape."
        ),
    ] = None,
    metric_days: Annotated[
        int | None, typer.Option("--metric-days", min=1, help="So long any points; summaries stay.")
    ] = None,
    log_days: Annotated[
        int | None, typer.Option("--log-days", min=1, help="So long the lines of logs.")
    ] = None,
) -> None:
    """Say for how long metrics and logs are kept, in place of what was said before; without any days nothing is said any more."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.set_retention(
            workspace,
            metric_detail_days=detail_days,
            metric_retention_days=metric_days,
            log_retention_days=log_days,
        )
    warn(found.warnings)
    name, *said = _cells(found)
    emit(found, lambda: note("{}: all points {}, points {}, log lines {}", name, *said))


def _cells(rule: "RetentionRule") -> tuple[str, ...]:
    whose = "the whole tenant" if rule.workspace is None else rule.workspace
    said = rule.metric_detail_days, rule.metric_retention_days, rule.log_retention_days
    return whose, *map(_days, said)


def _days(count: int | None) -> str:
    return "-" if count is None else f"{count} d"
