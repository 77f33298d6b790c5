"""A real worker process, with the credentials that joining would have given it."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shared.auth import nats_jwt
from shared.ids import RunId, WorkerId
from shared.messages.workers import Credentials
from tests.integration.servers import Servers
from tests.support.processes import number_outside
from tests.support.unprivileged import GROUP, USER, as_unprivileged
from tests.support.waiting import TIMEOUT_S
from tests.support.warm import ROOT, WITHOUT_TORCH, WarmHere, start_here
from worker.settings import WARM_MODULES

WITH_TORCH = {"MUSTER_WORKER__WARM": WARM_MODULES}
"""As workers are: for scripts that train. It takes five seconds of processor time, at each start."""
TO_EXCHANGE = {"MUSTER_WORKER__WARM": WARM_MODULES.replace("torch._dynamo,", "")}
"""For gangs without an optimizer, which has half of those seconds: each rank would import the other half itself."""


class Daemon:
    """A real worker process in a directory of its own. Its warm parent imports the least, unless it is started `WITH_TORCH` or `TO_EXCHANGE`."""

    def __init__(self, servers: Servers, name: str, directory: Path, slots: int = 1) -> None:
        self.name = name
        self.directory = directory
        identity = directory / "identity"
        identity.mkdir(parents=True, mode=0o700)
        seed = nats_jwt.new_seed(nats_jwt.KeyKind.USER, os.urandom(32))
        (identity / "seed").write_text(seed)
        given = credentials(servers, name, nats_jwt.public_key(seed))
        (identity / "credentials.json").write_text(given.model_dump_json())
        self._environment = {
            "PATH": os.environ["PATH"],
            "MUSTER_WORKER__ID": name,
            "MUSTER_WORKER__DIRECTORY": str(directory),
            "MUSTER_WORKER__SLOTS": str(slots),
            "MUSTER_WORKER__KIND": "cpu",
            "MUSTER_WORKER__NETWORK": "host",
            **WITHOUT_TORCH,
        }
        self.before: tuple[str, ...] = ()
        """Words that enter another machine's network, say, and then become the daemon."""
        self._last: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | WarmHere | None = None

    def become_unprivileged(self, *words: str) -> None:
        """Start as a user without any right from now on, by these words if any."""
        for path in (self.directory, *self.directory.rglob("*")):
            os.chown(path, USER, GROUP)
        self.before = (*as_unprivileged(self.directory), *words)

    def pid_of(self, run: RunId, number: int) -> int:
        """The process of a run that has this number to itself."""
        return number_outside(self.directory / "runs" / str(run), number)

    def start_again(self) -> None:
        """Start with the settings of the last start."""
        self.start(**self._last)

    @property
    def user_key(self) -> str:
        """The public key that it joined with."""
        return nats_jwt.public_key((self.directory / "identity" / "seed").read_text())

    def start(self, **more: str) -> None:
        self._last = more
        environment = self._environment | more
        with (self.directory / "daemon.log").open("ab") as log:
            if not self.before:
                self._process = start_here("worker", environment, log)
                return
            command = [*self.before, sys.executable, "-m", "worker"]
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=TIMEOUT_S)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=TIMEOUT_S)

    def end(self, pid: int | None) -> None:
        if pid is not None:
            os.kill(pid, signal.SIGTERM)

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
        return self._process.wait(timeout=TIMEOUT_S)

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def parent_pid(self) -> int:
        return int((self.directory / "parent" / "parent.lock").read_text())

    def clear_away(self) -> None:
        """End whatever still lives, also after a failed test."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        try:
            os.kill(self.parent_pid, signal.SIGTERM)
        except (OSError, ValueError):
            return


def credentials(servers: Servers, worker: str, user_key: str) -> Credentials:
    issuer = nats_jwt.WorkerIssuer.from_json(servers.keys.worker_issuer.read_text())
    now = datetime.now(UTC)
    until = now + timedelta(hours=24)
    token = nats_jwt.worker_token(issuer, worker, user_key, now=now, until=until)
    return Credentials(worker=WorkerId(worker), jwt=token, nats_url=servers.nats.url, expires_at=until)
