"""`muster prices`: what the operator types. Heavy imports wait until it runs."""

from pathlib import Path
from typing import Annotated

import typer


def prices(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue's file; its prices are replaced.")],
    providers: Annotated[Path, typer.Option(help="The providers' file: who is asked.")],
    provider: Annotated[
        str | None, typer.Option(help="Only this one; all that tell prices when left out.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Bring the prices of the catalogue's kinds, on demand and spot: of AWS and Google Cloud in every zone that has them, of clusters from the site's own file."""
    from deploy.prices.refresh import RefreshOptions, refresh

    refresh(RefreshOptions(catalogue, providers, provider, dry_run), as_json=as_json)
