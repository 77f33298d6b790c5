"""Where things lie in the worker's directory."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from muster import wire
from muster.errors import Rejected
from shared.ids import RunId


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The directory of one run. `code` is the ranks' working directory."""

    root: Path

    @property
    def record(self) -> Path:
        return self.root / "run.json"

    @property
    def trial_file(self) -> Path:
        return self.root / "trial.json"

    @property
    def unsent(self) -> Path:
        return self.root / "unsent.frames"

    @property
    def code(self) -> Path:
        return self.root / "code"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def latest(self) -> Path:
        return self.root / "latest"

    @property
    def uploads(self) -> Path:
        return self.root / "uploads"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def watch(self) -> Path:
        return self.root / "watch"

    @property
    def spool(self) -> Path:
        """Where ranks put what they log beside numbers."""
        return self.root / "spool"

    @property
    def tensorboard(self) -> Path:
        """Where their code is told to write event files."""
        return self.root / "tensorboard"

    @property
    def media(self) -> Path:
        """The record of what of both was sent, and the pack under way."""
        return self.root / "media"

    @property
    def journals(self) -> Path:
        return self.root / "journal"

    def journal(self, stream: str) -> Path:
        """The journal of a stream: `reports`, `logs` or `profile`."""
        return self.journals / stream

    def output(self, rank: int, stream: str) -> Path:
        """Where a rank's stdout or stderr goes."""
        return self.logs / f"{rank}.{stream}"

    def make(self) -> None:
        """Make what ranks write into: also the file for what a rank could not send, which it may not make there itself."""
        ranks = (self.code, self.home, self.checkpoints, self.logs, self.watch, self.spool, self.tensorboard)
        for path in (*ranks, self.uploads):
            path.mkdir(parents=True, exist_ok=True)
        self.unsent.touch()


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """The worker's own directory; nobody else may read it."""

    root: Path

    @property
    def identity(self) -> Path:
        return self.root / "identity"

    @property
    def parent(self) -> Path:
        return self.root / "parent"

    def parent_of(self, environment: str) -> Path:
        """The warm parent of an environment; of none the plain one."""
        return self.root / f"parent-{environment}" if environment else self.parent

    @property
    def environments(self) -> Path:
        return self.root / "environments"

    @property
    def socket(self) -> Path:
        return self.root / "ranks.sock"

    @property
    def gate(self) -> Path:
        return self.root / "epoch"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def numbering(self) -> Path:
        """Where the journals of runs stood that were here and may come back."""
        return self.root / "numbering"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def code_cache(self) -> Path:
        return self.cache / "code"

    @property
    def checkpoint_cache(self) -> Path:
        return self.cache / "checkpoints"

    def run(self, run_id: RunId) -> RunPaths:
        """The directory of a run."""
        return RunPaths(self.runs / str(run_id))

    def make(self, is_shared: bool) -> None:
        """Make what must exist, for this user only; with `is_shared` another user may pass through to a run whose name it knows."""
        for path in (self.root, self.runs, self.environments):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o711 if is_shared else 0o700)
        for path in (
            self.identity,
            self.parent,
            self.numbering,
            self.cache,
            self.code_cache,
            self.checkpoint_cache,
        ):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def lock(self) -> int:
        """Take this directory for this process; the descriptor holds it.

        Raises:
            Rejected: Another daemon lives here.
        """
        descriptor = os.open(self.root / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Rejected(
                "directory_taken",
                f"another worker runs in {self.root}",
                hint="give each worker a directory of its own: MUSTER_WORKER__DIRECTORY",
            ) from None
        wire.write_pid(descriptor)
        return descriptor
