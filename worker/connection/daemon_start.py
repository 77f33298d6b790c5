"""Starts the daemon of a joined machine: in the foreground, detached, or by a systemd unit. Neighbour: `join_command`."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.errors import Rejected
from shared.bus import AUTHENTICATION
from worker.connection.join_command import JoinSettings
from worker.connection.platform_connection import CONNECTED
from worker.settings import inherited_environment

LOG = "worker.log"
STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 10.0
_READY = b"the process became ready"
_CONNECTED, _REFUSED = CONNECTED.encode(), AUTHENTICATION.encode()
"""Messages in the daemon's log."""
_LOOK_S = 0.1
_SECRETS = ("MUSTER_TOKEN", "MUSTER_JOIN_TOKEN", "MUSTER_WORKER__JOIN_TOKEN")
"""Secrets of the user's shell; the daemon needs none of them."""
_UNIT = """\
[Unit]
Description=Muster worker {name}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={muster} worker join --directory {directory}
Restart=always
RestartSec=5
# The daemon asks its ranks to save and exit, then exits.
KillMode=mixed
TimeoutStopSec=120
{user}
[Install]
WantedBy={target}
"""


def run_here(joining: JoinSettings, directory: Path) -> None:
    """Replace this process with the daemon; on SIGTERM or Ctrl-C its ranks save before they end. Does not return."""
    os.execve(sys.executable, _command(), _environment(joining, directory))  # noqa: S606 - our own interpreter


def start_detached(joining: JoinSettings, directory: Path) -> str:
    """Start the daemon in its own session, wait until it is ready, and return the outcome as a sentence.

    If the platform does not answer, the daemon keeps trying and manages the runs on this machine meanwhile.

    Raises:
        Rejected: The daemon exited (with its last output), or the bus refuses it.
    """
    log = directory / LOG
    before = log.stat().st_size if log.exists() else 0
    with log.open("ab") as output:
        os.fchmod(output.fileno(), 0o600)
        daemon = subprocess.Popen(
            _command(),
            env=_environment(joining, directory),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    log_reader = _DaemonLog(daemon, log, before)
    if log_reader.first_of((_READY,), STARTS_WITHIN_S) is None:
        raise Rejected(
            "worker_slow", f"the worker did not become ready within {STARTS_WITHIN_S:g} s", hint=f"see {log}"
        )
    how_to_stop = f"`kill {daemon.pid}` stops it gracefully"
    found = log_reader.first_of((_CONNECTED, _REFUSED), ANSWERS_WITHIN_S)
    if found == _REFUSED:
        raise Rejected(
            "worker_refused",
            f"the bus refuses this machine: its key was revoked, or the platform's signing keys changed; process {daemon.pid} keeps trying, and {how_to_stop}",
            hint=f"join with a new token from `muster worker token`; if its key was revoked, first remove {directory / 'identity'}",
        )
    waits = "" if found else "; the platform has not answered yet, the worker keeps trying"
    return f"it runs as process {daemon.pid}{waits}; {how_to_stop}"


@dataclass(frozen=True, slots=True)
class _DaemonLog:
    """Reads a daemon's log from `begin` on."""

    daemon: subprocess.Popen[bytes]
    log: Path
    begin: int

    def first_of(self, markers: Sequence[bytes], within_s: float) -> bytes | None:
        """Wait for one of the markers. Raises Rejected if the daemon exits first."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            with self.log.open("rb") as written:
                written.seek(self.begin)
                log_reader = written.read()
            for marker in markers:
                if marker in log_reader:
                    return marker
            if self.daemon.poll() is not None:
                last = log_reader.decode(errors="replace").strip().splitlines()[-1:]
                raise Rejected("worker_ended", f"the worker exited: {' '.join(last)}", hint=f"see {self.log}")
            time.sleep(_LOOK_S)
        return None


def systemd_unit(joining: JoinSettings, directory: Path) -> str:
    """Return a systemd unit that starts the worker at boot; a user unit if not root."""
    muster = shutil.which("muster", path=str(Path(sys.executable).parent)) or "muster"
    is_root = os.geteuid() == 0
    return _UNIT.format(
        name=joining.id,
        muster=muster,
        directory=directory,
        user="User=root\n" if is_root else "",
        target="multi-user.target" if is_root else "default.target",
    )


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", "worker"]


def _environment(joining: JoinSettings, directory: Path) -> dict[str, str]:
    inherited = {name: value for name, value in inherited_environment().items() if name not in _SECRETS}
    return inherited | joining.environment(directory)
