"""`muster worker join`: what a person types on a machine. Heavy imports wait until it runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Url = Annotated[str | None, typer.Option("--url", help="The platform's address; at the first time only.")]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="MUSTER_JOIN_TOKEN",
        help="What `muster worker token` printed; `-` reads it from standard input. At the first time only.",
    ),
]
Labels = Annotated[str | None, typer.Option("--labels", help="What experiments may ask for: rack=r7,zone=a.")]
Directory = Annotated[
    Path | None,
    typer.Option(
        "--directory", help="Where it keeps what is its own; default /var/lib/muster/worker, or in your home."
    ),
]


def join(
    url: Url = None,
    token: Token = None,
    pool: Annotated[str | None, typer.Option("--pool", "-p", help="The pool to join.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Its name; default is the machine's.")] = None,
    address: Annotated[
        str | None, typer.Option("--address", help="Where the other machines of its pool reach it.")
    ] = None,
    labels: Labels = None,
    slots: Annotated[
        int | None, typer.Option("--slots", min=0, help="How many; default are its GPUs, else its cores.")
    ] = None,
    kind: Annotated[
        Literal["cuda", "rocm", "cpu"] | None, typer.Option("--kind", help="Of what kind its slots are.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="An unprivileged user to run trials as, where you are root.")
    ] = None,
    directory: Directory = None,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running, and return.")] = False,
    systemd: Annotated[
        bool,
        typer.Option("--systemd", help="Join, print a unit that starts it with the machine, and return."),
    ] = False,
) -> None:
    """Make this machine a worker of the platform, and serve until Ctrl-C or SIGTERM.

    After the first time no token is needed: its credentials are renewed while it runs, and are good for 24 h after.
    """
    import asyncio
    import sys

    from shared.clock import SystemClock
    from worker.connection.daemon_start import run_here, start_detached, systemd_unit
    from worker.connection.joining import JoinOptions, default_directory, join_here, resolve

    folder = (directory or default_directory()).absolute()
    joining = resolve(JoinOptions(url, name, pool, address, labels, slots, kind, user), folder)
    secret = sys.stdin.readline().strip() if token == "-" else token
    asyncio.run(join_here(joining, secret or None, folder, SystemClock()))
    typer.echo(
        f"worker {joining.id} is of pool {joining.pool} of {joining.url}; its folder is {folder}", err=True
    )
    if systemd:
        typer.echo(systemd_unit(joining, folder))
    elif detach:
        typer.echo(start_detached(joining, folder), err=True)
    else:
        run_here(joining, folder)
