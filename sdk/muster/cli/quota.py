"""`muster quota`: how many experiments are open at once, and how many requests a second are sent."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.frame import noun, verb
from muster.cli.output import emit, note, number, table, warn
from muster.cli.policy import whose
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import WorkQuota

app = noun("See and say how much a tenant and its workspaces do at once.")

OfTenant = Annotated[
    str | None, typer.Option("--tenant", help="Of this one, for who keeps the site; by default your own.")
]
OfWorkspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="Of this one; by default of the tenant.")
]


@verb(app, "list")
def list_quotas() -> None:
    """List the quotas of your tenant and its workspaces; who keeps the site sees every tenant's."""
    from muster.client import connect

    with connect() as client:
        found = client.quotas.list()
    columns = ("tenant", "for", ">experiments", ">requests a second", "by")
    rows = (
        (one.tenant, whose(one.workspace), one.max_experiments, one.requests_per_s, one.by) for one in found
    )
    emit(found, lambda: table(columns, rows, "no quotas: only what the site allows everybody"))


@verb(app, "set")
def set_quota(
    workspace: OfWorkspace = None,
    tenant: OfTenant = None,
    experiments: Annotated[
        int | None,
        typer.Option("--experiments", min=0, help="Open at once, running or not; by default any number."),
    ] = None,
    requests: Annotated[
        float | None, typer.Option("--requests", min=0.1, help="A second; by default what the site allows.")
    ] = None,
) -> None:
    """Say what may be done at once, in place of what was said before; without any number nothing is said any more."""
    from muster.client import connect

    if workspace is not None and tenant is not None:
        raise Rejected(
            "invalid_request", "a workspace's quota is set within its tenant", "--tenant", "leave one out"
        )
    with connect() as client:
        found = client.quotas.set(
            workspace, tenant=tenant, max_experiments=experiments, requests_per_s=requests
        )
    warn(found.warnings)
    emit(found, lambda: note("{}", _said(found)))


def _said(found: "WorkQuota") -> str:
    who = f"tenant {found.tenant}" if found.workspace is None else f"workspace {found.workspace}"
    most = "any number of" if found.max_experiments is None else f"at most {found.max_experiments}"
    rate = (
        "what the site allows" if found.requests_per_s is None else f"{number(found.requests_per_s)} a second"
    )
    return f"{who} may have {most} experiments open at once; requests: {rate}"
