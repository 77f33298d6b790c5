"""The daemon of a machine that has joined, started: in place of the command, left running, or by a unit of systemd. Neighbour: `joining`."""

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
from worker.connection.joining import JoinSettings
from worker.connection.platform_connection import CONNECTED
from worker.settings import inherited_environment

LOG = "worker.log"
STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 10.0
_READY = b"the process became ready"
_CONNECTED, _REFUSED = CONNECTED.encode(), AUTHENTICATION.encode()
"""What the daemon's log says."""
_LOOK_S = 0.1
_SECRETS = ("MUSTER_TOKEN", "MUSTER_JOIN_TOKEN", "MUSTER_WORKER__JOIN_TOKEN")
"""Of who types; the daemon needs none of them."""
_UNIT = """\
[Unit]
Description=Muster worker {name}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={muster} worker join --directory {directory}
Restart=always
RestartSec=5
# Its ranks are asked to save and end; then the daemon ends by itself.
KillMode=mixed
TimeoutStopSec=120
{user}
[Install]
WantedBy={target}
"""


def run_here(joining: JoinSettings, directory: Path) -> None:
    """Becomes the daemon; SIGTERM or Ctrl-C ends it, its ranks are asked to save first. Does not return."""
    os.execve(sys.executable, _command(), _environment(joining, directory))  # noqa: S606 - our own interpreter


def start_detached(joining: JoinSettings, directory: Path) -> str:
    """Starts the daemon in a session of its own, waits until it is there, and returns what became of it in a sentence.

    Where the platform does not answer, it goes on asking: what was left running here is looked after all the same.

    Raises:
        Rejected: It ended, with the end of what it said; or it is let in no more.
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
            "worker_slow", f"the worker has not become ready in {STARTS_WITHIN_S:g} s", hint=f"see {log}"
        )
    how_to_stop = f"`kill {daemon.pid}` ends it gently"
    found = log_reader.first_of((_CONNECTED, _REFUSED), ANSWERS_WITHIN_S)
    if found == _REFUSED:
        raise Rejected(
            "worker_refused",
            f"the bus lets this machine in no more: its key was revoked, or the platform signs with others; process {daemon.pid} goes on asking, and {how_to_stop}",
            hint=f"give it a new token: `muster worker token`; where its key was revoked, remove {directory / 'identity'} before",
        )
    waits = "" if found else "; the platform has not answered yet, and is asked again"
    return f"it runs as process {daemon.pid}{waits}; {how_to_stop}"


@dataclass(frozen=True, slots=True)
class _DaemonLog:
    """What a daemon writes into its log, from `begin` on."""

    daemon: subprocess.Popen[bytes]
    log: Path
    begin: int

    def first_of(self, markers: Sequence[bytes], within_s: float) -> bytes | None:
        """Waits for one of the words. Raises Rejected when the daemon ends before."""
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
                raise Rejected("worker_ended", f"the worker ended: {' '.join(last)}", hint=f"see {self.log}")
            time.sleep(_LOOK_S)
        return None


def systemd_unit(joining: JoinSettings, directory: Path) -> str:
    """A unit that starts the worker with the machine; of a user's own where it is not root's."""
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
    kept = {name: value for name, value in inherited_environment().items() if name not in _SECRETS}
    return kept | joining.environment(directory)
