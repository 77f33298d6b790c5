"""`muster republish`: what the operator types. Heavy imports wait until it runs."""

from typing import Annotated

import typer


def republish(
    service: Annotated[str | None, typer.Argument(help="Only this one; all of them when left out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Have services say again how each of their entities is, for a consumer that is new or was rebuilt."""
    from deploy.republish.requests import request_all

    request_all(service, as_json=as_json)
