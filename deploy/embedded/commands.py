"""`muster up`, `muster down`, `muster status`, `muster keys`: what people type. Heavy imports wait until a command runs."""

from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(
    help="The keys that services and workers sign in with.", no_args_is_help=True, add_completion=False
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


def up(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay, until Ctrl-C ends it.")] = False,
    as_json: Json = False,
) -> None:
    """Start the platform on this machine and leave it running."""
    from deploy.embedded.running import start_detached, start_here

    if foreground:
        start_here()
    else:
        start_detached(as_json=as_json)


def down(as_json: Json = False) -> None:
    """Stop the platform on this machine, leaving no process and no port behind."""
    from deploy.embedded.running import stop

    stop(as_json=as_json)


def status(as_json: Json = False) -> None:
    """Show what runs on this machine, and its memory."""
    from deploy.embedded.running import show

    show(as_json=as_json)


@keys.callback()
def _keys() -> None:
    """The keys that services and workers sign in with: made, changed, let in no more."""


@keys.command("init")
def init(
    directory: Annotated[
        Path | None, typer.Option(help="Where they go; `keys` of the platform's folder when left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the identities that are missing; those that exist are kept."""
    from deploy.embedded.running import make_keys

    make_keys(directory, as_json=as_json)


@keys.command("revoke")
def revoke(
    worker: Annotated[str, typer.Argument(help="A worker's name, or a public key (`U…`).")],
    as_json: Json = False,
) -> None:
    """Let a worker in no more, and cut it off: its key was stolen, or its machine is not to be trusted."""
    from deploy.embedded.keys.identities import revoke_worker

    revoke_worker(worker, as_json=as_json)


@keys.command("rotate")
def rotate(
    service: Annotated[
        str | None, typer.Argument(metavar="[SERVICE]", help="A service's name, such as `gateway`.")
    ] = None,
    operator: Annotated[
        bool,
        typer.Option("--operator", help="Who vouches for the accounts: the bus starts again with another."),
    ] = False,
    account: Annotated[
        bool,
        typer.Option("--account", help="What signs services and workers; the former counts until --finish."),
    ] = False,
    finish: Annotated[
        bool,
        typer.Option(
            "--finish", help="With --account: end what the former keys signed, a day later or at once."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Give a service another key, start it again with that, and let the old one in no more; or change what signs them all."""
    from deploy.embedded.keys.identities import rotate_key
    from deploy.embedded.keys.signing import finish_account, rotate_signing
    from muster.errors import Rejected

    if [service is not None, operator, account].count(True) != 1 or (finish and not account):
        raise Rejected(
            "bad_command",
            "say what to change: a service's name, --operator, or --account (with --finish later)",
        )
    if service is not None:
        rotate_key(service, as_json=as_json)
    elif finish:
        finish_account(as_json=as_json)
    else:
        rotate_signing("operator" if operator else "account", as_json=as_json)
