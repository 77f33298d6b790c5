"""`muster tensorboard`: TensorBoard over experiments, kept up to date while it is looked at."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.output import note
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.tensorboard import Logdir

REFRESH_S = 10.0


def tensorboard(
    experiments: Annotated[list[str], typer.Argument(metavar="EXPERIMENT…", help="Their numbers or ids.")],
    logdir: Annotated[
        Path | None, typer.Option("--logdir", help="Keep the files here; else they go with the command.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 6006,
    host: Annotated[
        str, typer.Option("--host", help="Who listens; TensorBoard asks nobody who they are.")
    ] = "127.0.0.1",
    once: Annotated[
        bool, typer.Option("--once", help="Only write the files, to --logdir, and start nothing.")
    ] = False,
) -> None:
    """Look at experiments in TensorBoard; new points follow until Ctrl-C."""
    from muster.client import connect

    try:
        from muster.tensorboard import Logdir
    except ImportError as error:
        raise Rejected("no_tensorboard", str(error)) from error
    if once and logdir is None:
        raise Rejected("usage", "--once writes files and needs a place for them", hint="add --logdir FOLDER")
    with ExitStack() as stack:
        client = stack.enter_context(connect())
        folder = logdir or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-tensorboard-"))
        )
        files = Logdir(client, experiments, folder)
        stack.callback(files.close)
        written = files.update()
        note("{} points and media of {} are in {}", written, ", ".join(experiments), folder)
        if once:
            return
        with _serving(folder, host, port) as process:
            _follow(files, process)


@contextmanager
def _serving(folder: Path, host: str, port: int) -> "Iterator[subprocess.Popen[bytes]]":
    """TensorBoard over the folder, ended with us."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--host", host]
    process = subprocess.Popen([*command, "--port", str(port), "--reload_interval", "5"])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _follow(files: "Logdir", process: "subprocess.Popen[bytes]") -> None:
    while True:
        try:
            code = process.wait(REFRESH_S)
        except subprocess.TimeoutExpired:
            files.update()
            continue
        raise Rejected(
            "tensorboard_ended",
            f"TensorBoard ended with code {code}; what it said stands above",
            hint="is the port taken? try --port 0",
        )
