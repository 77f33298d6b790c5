"""`muster quota`: limits on open experiments, requests per second and stored bytes."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, note, number, size, warn
from muster.cli.cluster.pools import bytes_of
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import WorkQuota

app = NOUNS["quota"].app

OfTenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Name of the tenant (site administrators only); by default your own."),
]
OfWorkspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="Scope: this workspace; by default the tenant.")
]


@verb(app, "set")
def set_quota(
    workspace: OfWorkspace = None,
    tenant: OfTenant = None,
    experiments: Annotated[
        int | None,
        typer.Option(
            "--experiments",
            min=0,
            help="Maximum number of open experiments, running or not; by default no limit.",
        ),
    ] = None,
    requests: Annotated[
        float | None,
        typer.Option("--requests", min=0.1, help="Maximum requests per second; by default the site's limit."),
    ] = None,
    stored: Annotated[
        str | None,
        typer.Option(
            "--stored", help="Maximum bytes of a workspace, such as 500GB; by default the tenant's limit."
        ),
    ] = None,
) -> None:
    """Set the quota of a tenant or a workspace, replacing the previous one; without options, remove the quota."""
    from muster.client import connect

    if workspace is not None and tenant is not None:
        raise Rejected(
            "invalid_request",
            "a workspace's quota is set within its tenant",
            "--tenant",
            "omit --tenant or --workspace",
        )
    if stored is not None and workspace is None:
        raise Rejected(
            "invalid_request",
            "--stored applies to workspaces; tenants have a storage limit",
            "--stored",
            "name a --workspace, or use `muster limit storage`",
        )
    with connect() as client:
        found = client.quotas.set(
            workspace,
            tenant=tenant,
            max_experiments=experiments,
            requests_per_s=requests,
            max_stored_bytes=None if stored is None else bytes_of(stored, "--stored"),
        )
    warn(found.warnings)
    emit(found, lambda: note("{}", _message(found)))


def _message(found: "WorkQuota") -> str:
    who = f"tenant {found.tenant}" if found.workspace is None else f"workspace {found.workspace}"
    most = "an unlimited number of" if found.max_experiments is None else f"at most {found.max_experiments}"
    rate = "the site's limit" if found.requests_per_s is None else f"{number(found.requests_per_s)} a second"
    message = f"{who} may have {most} open experiments; requests: {rate}"
    if found.workspace is None:
        return message
    return f"{message}; stored: {'limited only by the tenant' if found.max_stored_bytes is None else size(found.max_stored_bytes)}"
