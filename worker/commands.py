"""The command `muster worker join`. Heavy imports are deferred until it runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Url = Annotated[
    str | None, typer.Option("--url", help="The platform's address. Needed for the first join only.")
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="MUSTER_JOIN_TOKEN",
        help="The join token from `muster worker token`; `-` reads it from standard input. Needed for the first join only.",
    ),
]
Labels = Annotated[
    str | None, typer.Option("--labels", help="Labels that experiments can select: rack=r7,zone=a.")
]
Directory = Annotated[
    Path | None,
    typer.Option(
        "--directory",
        help="The worker's data directory. Default: /var/lib/muster/worker for root, else in your home.",
    ),
]


def join(
    url: Url = None,
    token: Token = None,
    pool: Annotated[str | None, typer.Option("--pool", "-p", help="The pool to join.")] = None,
    name: Annotated[
        str | None, typer.Option("--id", help="The worker's name. Default: the host name.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--address", help="The address at which other machines of the pool reach this one."),
    ] = None,
    labels: Labels = None,
    slots: Annotated[
        int | None,
        typer.Option("--slots", min=0, help="Number of slots. Default: the machine's GPUs, else its cores."),
    ] = None,
    kind: Annotated[
        Literal["cuda", "rocm", "cpu"] | None, typer.Option("--kind", help="The kind of the slots.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="An unprivileged user to run trials as. Requires root.")
    ] = None,
    directory: Directory = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Run the worker in the background and return.")
    ] = False,
    systemd: Annotated[
        bool,
        typer.Option(
            "--systemd", help="Join, print a systemd unit that starts the worker at boot, and return."
        ),
    ] = False,
) -> None:
    """Join this machine to the platform as a worker, and serve until Ctrl-C or SIGTERM.

    Later starts need no token: the worker renews its credentials while it runs, and they stay valid for 24 h after it stops.
    """
    import asyncio
    import sys

    from shared.clock import SystemClock
    from worker.connection.daemon_start import run_here, start_detached, systemd_unit
    from worker.connection.join_command import JoinOptions, default_directory, join_here, resolve

    folder = (directory or default_directory()).absolute()
    joining = resolve(JoinOptions(url, name, pool, address, labels, slots, kind, user), folder)
    secret = sys.stdin.readline().strip() if token == "-" else token
    identity = asyncio.run(join_here(joining, secret or None, folder, SystemClock()))
    typer.echo(
        f"worker {joining.id} joined pool {joining.pool} of {joining.url}; its data directory is {folder}",
        err=True,
    )
    if identity.is_new and identity.credentials and identity.credentials.warning:
        typer.echo(f"warning: {identity.credentials.warning}", err=True)
    if systemd:
        typer.echo(systemd_unit(joining, folder))
    elif detach:
        typer.echo(start_detached(joining, folder), err=True)
    else:
        run_here(joining, folder)
