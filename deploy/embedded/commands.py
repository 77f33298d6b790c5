"""The commands `muster up`, `muster down`, `muster status` and `muster keys`. Heavy imports are deferred until a command runs."""

from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(
    help="Manage the keys with which services and workers connect to the bus.",
    no_args_is_help=True,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


def up(
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Run in the foreground until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start the platform on this machine in the background."""
    from deploy.embedded.lifecycle import start_detached, start_here

    if foreground:
        start_here()
    else:
        start_detached(as_json=as_json)


def down(as_json: Json = False) -> None:
    """Stop the platform on this machine with all its processes."""
    from deploy.embedded.lifecycle import stop

    stop(as_json=as_json)


def status(as_json: Json = False) -> None:
    """Show the platform's processes on this machine, their health and memory."""
    from deploy.embedded.lifecycle import show

    show(as_json=as_json)


@keys.callback()
def _keys() -> None:
    """Manage the keys with which services and workers connect to the bus."""


@keys.command("init")
def init(
    directory: Annotated[
        Path | None, typer.Option(help="The key directory. Default: `keys` in the platform's directory.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create missing identities; existing ones are kept."""
    from deploy.embedded.lifecycle import make_keys

    make_keys(directory, as_json=as_json)


@keys.command("revoke")
def revoke(
    worker: Annotated[str, typer.Argument(help="A worker's name, or a public key (`U…`).")],
    as_json: Json = False,
) -> None:
    """Revoke a worker's key and disconnect it, for example after a theft."""
    from deploy.embedded.keys.identities import revoke_worker

    revoke_worker(worker, as_json=as_json)


@keys.command("rotate")
def rotate(
    service: Annotated[
        str | None, typer.Argument(metavar="[SERVICE]", help="A service's name, such as `gateway`.")
    ] = None,
    operator: Annotated[
        bool,
        typer.Option(
            "--operator", help="Rotate the operator key, which signs the accounts; restarts the bus."
        ),
    ] = False,
    account: Annotated[
        bool,
        typer.Option(
            "--account",
            help="Rotate the keys that sign services and workers; former keys stay valid until --finish.",
        ),
    ] = False,
    finish: Annotated[
        bool,
        typer.Option(
            "--finish",
            help="With --account: invalidate everything that the former keys signed. Run it a day later, or at once after a theft.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Rotate a service's key: create a new one, restart the service, and revoke the old one. Or rotate the signing keys."""
    from deploy.embedded.keys.identities import rotate_key
    from deploy.embedded.keys.signing_key_rotation import finish_account, rotate_signing
    from muster.errors import Rejected

    if [service is not None, operator, account].count(True) != 1 or (finish and not account):
        raise Rejected(
            "bad_command",
            "name what to rotate: a service, --operator, or --account (later with --finish)",
        )
    if service is not None:
        rotate_key(service, as_json=as_json)
    elif finish:
        finish_account(as_json=as_json)
    else:
        rotate_signing("operator" if operator else "account", as_json=as_json)
