"""The command `muster republish`. Heavy imports are deferred until it runs."""

from typing import Annotated

import typer


def republish(
    service: Annotated[str | None, typer.Argument(help="A service's name. Default: all services.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Make services publish the current state of all their entities again, for a new or rebuilt consumer."""
    from deploy.republish.requests import request_all

    request_all(service, as_json=as_json)
