"""Implements `muster up`, `down` and `status`: starts and stops the supervisor, and shows its state."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from deploy.embedded.first_sign_in import sign_in_lines
from deploy.embedded.host.processes import ProcessId, wait_until
from deploy.embedded.options import Options, home_to_find, load_options
from deploy.embedded.preflight import check_disk, check_ports
from deploy.embedded.state import State, load_state
from deploy.embedded.status.report import collect_report
from deploy.embedded.status.tables import print_report
from deploy.embedded.supervision.orphan_processes import end_leftovers
from deploy.embedded.supervisor import supervise
from muster.errors import Broken, Conflict, MusterError

READY_TIMEOUT_S = 600.0
"""Longer than the supervisor's three attempts to start a part: its error names the part."""
STOP_TIMEOUT_S = 60.0
NOT_RUNNING = 3
_POLL_S = 0.1


def start_here() -> None:
    """Run the platform in this process until it is stopped."""
    supervise(load_options())


def start_detached(*, as_json: bool) -> None:
    """Start a detached supervisor, and return when the platform is ready.

    Raises:
        MusterError: the platform did not become ready, with the reason.
    """
    options = load_options()
    running = _running(options.home)
    if running is None:
        began = time.monotonic()
        options.home.mkdir(parents=True, exist_ok=True)
        _clear(options)
        running = _watch(options.home, _spawn(options.home), as_json=as_json)
        headline = f"Muster is ready after {time.monotonic() - began:.1f} s"
    else:
        headline = "Muster is already running"
    if as_json:
        print(json.dumps({"url": running.url, "grpc": running.grpc, "home": str(options.home)}))
    else:
        lines = [
            f"[green]{headline}[/]: {running.url} (gRPC {running.grpc})",
            *map(escape, sign_in_lines(options.home)),
            "`muster experiment create CONFIG FOLDER` starts an experiment, `muster status` shows the platform, `muster down` stops it.",
        ]
        Console(stderr=True, highlight=False).print("\n".join(lines), soft_wrap=True)


def stop(*, as_json: bool) -> None:
    """Stop the platform and processes left by a killed supervisor; succeed if nothing runs.

    Raises:
        Broken: a process does not end.
    """
    home = home_to_find()
    state = load_state(home)
    ended = 0
    if state is not None and state.supervisor.is_alive():
        state.supervisor.send(signal.SIGTERM)
        if not wait_until(lambda: not state.supervisor.is_alive(), STOP_TIMEOUT_S, pause_s=_POLL_S):
            state.supervisor.send(signal.SIGKILL)
        ended = len(state.parts)
    ended += end_leftovers(home)
    (home / "client.json").unlink(missing_ok=True)
    if as_json:
        print(json.dumps({"home": str(home), "ended": ended}))
    else:
        sentence = "Muster is stopped" if ended else "Muster was not running"
        Console(stderr=True, highlight=False).print(f"{sentence} ({home})", soft_wrap=True)


def show(*, as_json: bool) -> None:
    """Print the report; exit with code 3 if nothing runs."""
    report = collect_report(home_to_find())
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        print_report(report)
    if not report.running:
        sys.exit(NOT_RUNNING)


def make_keys(directory: Path | None, *, as_json: bool) -> None:
    """Create missing NATS identities."""
    from deploy.keys.files import init_keys
    from shared.clock import SystemClock

    made = init_keys((directory or load_options().keys).absolute(), SystemClock().now())
    if as_json:
        print(json.dumps({"directory": str(made.directory), "server_conf": str(made.server_conf)}))
    else:
        print(f"keys are in {made.directory}; include server.conf in the NATS server's configuration")


def _running(home: Path) -> State | None:
    state = load_state(home)
    return state if state is not None and state.phase == "ready" and state.supervisor.is_alive() else None


def _clear(options: Options) -> None:
    """End processes left by a killed supervisor, and check disk space and ports."""
    state = load_state(options.home)
    if state is not None and state.supervisor.is_alive():
        raise Conflict(
            "busy", f"the platform in {options.home} is {state.phase}; wait for it, or run `muster down`"
        )
    end_leftovers(options.home)
    check_disk(options.home)
    check_ports(options)


def _spawn(home: Path) -> subprocess.Popen[bytes]:
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "deploy.embedded.supervisor"],
            env={**os.environ, "MUSTER_HOME": str(home)},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _watch(home: Path, supervisor: subprocess.Popen[bytes], *, as_json: bool) -> State:
    """Show the progress of the start until all parts are ready."""
    identity = ProcessId.of(supervisor.pid)
    deadline = time.monotonic() + READY_TIMEOUT_S
    console = Console(stderr=True)
    quiet = as_json or not console.is_terminal
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=4, disable=quiet) as progress:
        bar = progress.add_task("starting", total=9)
        while time.monotonic() < deadline:
            state = load_state(home)
            ours = state is not None and state.supervisor == identity
            if state is not None and ours:
                up = [part for part in state.parts if part.state in ("running", "external")]
                missing = [part.name for part in state.parts if part not in up]
                progress.update(
                    bar,
                    completed=len(up),
                    total=len(state.parts),
                    description=f"starting {', '.join(missing)}",
                )
                if state.phase == "ready":
                    return state
            if supervisor.poll() is not None:
                raise _failure(home, state if ours else None)
            time.sleep(_POLL_S)
    supervisor.terminate()
    raise Broken(
        f"the platform did not become ready within {READY_TIMEOUT_S:g} s; see the logs in {home / 'logs'}"
    )


def _failure(home: Path, state: State | None) -> MusterError:
    if state is not None and state.message:
        return Broken(state.message)
    lines = (home / "logs" / "supervisor.log").read_text(errors="replace").splitlines()
    return Broken(lines[-1] if lines else "the platform could not be started")
