"""`muster retention`: for how long a tenant and its workspaces keep metrics."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.frame import noun, verb
from muster.cli.output import emit, note, table, warn

if TYPE_CHECKING:
    from muster.client.models import RetentionRule

app = noun("See and say for how long metrics are kept.")


@verb(app, "list")
def list_rules() -> None:
    """List what your tenant and its workspaces say; an experiment's `retention_policy` may say less."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.retention().items
    columns = ("workspace", ">all points", ">points")
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
) -> None:
    """Say for how long metrics are kept, in place of what was said before; without any days nothing is said any more."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.set_retention(
            workspace, metric_detail_days=detail_days, metric_retention_days=metric_days
        )
    warn(found.warnings)
    name, *said = _cells(found)
    emit(found, lambda: note("{}: all points {}, points {}", name, *said))


def _cells(rule: "RetentionRule") -> tuple[str, str, str]:
    whose = "the whole tenant" if rule.workspace is None else rule.workspace
    return whose, _days(rule.metric_detail_days), _days(rule.metric_retention_days)


def _days(count: int | None) -> str:
    return "-" if count is None else f"{count} d"
