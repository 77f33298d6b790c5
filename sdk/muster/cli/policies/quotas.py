"""`muster quota`: how many experiments are open at once, how many requests a second are sent, how many bytes a workspace stores."""

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
    str | None, typer.Option("--tenant", help="Of this one, for who keeps the site; by default your own.")
]
OfWorkspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="Of this one; by default of the tenant.")
]


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
    stored: Annotated[
        str | None,
        typer.Option(
            "--stored", help="Bytes of a workspace, such as 500GB; by default what the tenant may store."
        ),
    ] = None,
) -> None:
    """Say what may be done at once, and stored, in place of all that was said before; without any number nothing is said any more."""
    from muster.client import connect

    if workspace is not None and tenant is not None:
        raise Rejected(
            "invalid_request", "a workspace's quota is set within its tenant", "--tenant", "leave one out"
        )
    if stored is not None and workspace is None:
        raise Rejected(
            "invalid_request",
            "of a tenant the bytes are its storage limit",
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
    emit(found, lambda: note("{}", _said(found)))


def _said(found: "WorkQuota") -> str:
    who = f"tenant {found.tenant}" if found.workspace is None else f"workspace {found.workspace}"
    most = "any number of" if found.max_experiments is None else f"at most {found.max_experiments}"
    rate = (
        "what the site allows" if found.requests_per_s is None else f"{number(found.requests_per_s)} a second"
    )
    said = f"{who} may have {most} experiments open at once; requests: {rate}"
    if found.workspace is None:
        return said
    return f"{said}; stored: {'what the tenant may' if found.max_stored_bytes is None else size(found.max_stored_bytes)}"
