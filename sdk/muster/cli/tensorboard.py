"""`muster tensorboard`: show experiments in TensorBoard, with live updates."""

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
    experiments: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT…", help="Numbers or ids of experiments.")
    ],
    logdir: Annotated[
        Path | None,
        typer.Option(
            "--logdir", help="Folder to keep the files; by default they are deleted when the command ends."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 6006,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; TensorBoard has no authentication.")
    ] = "127.0.0.1",
    once: Annotated[
        bool,
        typer.Option("--once", help="Write the files to --logdir and exit, without starting TensorBoard."),
    ] = False,
) -> None:
    """Show experiments in TensorBoard; new points appear until Ctrl-C."""
    from muster.client import connect

    try:
        from muster.tensorboard import Logdir
    except ImportError as error:
        raise Rejected("no_tensorboard", str(error)) from error
    if once and logdir is None:
        raise Rejected("usage", "--once writes files and needs a folder", hint="add --logdir FOLDER")
    with ExitStack() as stack:
        client = stack.enter_context(connect())
        folder = logdir or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-tensorboard-"))
        )
        files = Logdir(client, experiments, folder)
        stack.callback(files.close)
        written = files.update()
        note("wrote {} points and media of {} to {}", written, ", ".join(experiments), folder)
        if once:
            return
        with _serving(folder, host, port) as process:
            _follow(files, process)


@contextmanager
def _serving(folder: Path, host: str, port: int) -> "Iterator[subprocess.Popen[bytes]]":
    """Run TensorBoard over the folder; stop it at exit."""
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
            f"TensorBoard exited with code {code}; its output is above",
            hint="if the port is in use, try --port 0",
        )
