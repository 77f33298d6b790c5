"""The command `muster prices`. Heavy imports are deferred until it runs."""

from pathlib import Path
from typing import Annotated

import typer


def prices(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue file, whose prices are updated.")],
    providers: Annotated[Path, typer.Option(help="The file of providers to query.")],
    provider: Annotated[
        str | None, typer.Option(help="One provider's name. Default: all that publish prices.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the prices without writing the file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Update the on-demand and spot prices of the catalogue's kinds: AWS and Google Cloud in every zone that offers them, clusters from the site's own file."""
    from deploy.prices.refresh import RefreshOptions, refresh

    refresh(RefreshOptions(catalogue, providers, provider, dry_run), as_json=as_json)
