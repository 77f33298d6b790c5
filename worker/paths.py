"""Paths in the worker's data directory."""

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
    def handed_over(self) -> Path:
        """Exists once processes of the run may have started: from then on the worker writes nothing by path to what the run owns."""
        return self.root / "handed-over"

    def is_handed_over(self, user: int | None) -> bool:
        """Whether processes of the run may have started. Daemons without the file gave `unsent` to the run's user last, if that is another one."""
        is_other = user is not None and user != os.geteuid()
        return self.handed_over.exists() or (
            is_other and self.unsent.exists() and self.unsent.lstat().st_uid == user
        )

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
        """Where ranks write media."""
        return self.root / "spool"

    @property
    def tensorboard(self) -> Path:
        """Where user code writes TensorBoard event files."""
        return self.root / "tensorboard"

    @property
    def temporary(self) -> Path:
        """The run's /tmp."""
        return self.root / "tmp"

    @property
    def place(self) -> Path:
        """An empty folder, over which the root of the run's sandbox is mounted."""
        return self.root / "sandbox"

    @property
    def link(self) -> Path:
        """The folder of the socket on which the daemon listens to the run's ranks."""
        return self.root / "link"

    @property
    def socket(self) -> Path:
        return self.link / "ranks.sock"

    @property
    def folders_of_trial(self) -> tuple[Path, ...]:
        """Folders that ranks write to; their user owns them, and the file `unsent`."""
        first = (self.code, self.home, self.temporary, self.checkpoints, self.logs)
        return (*first, self.watch, self.spool, self.tensorboard)

    @property
    def media(self) -> Path:
        """The record of sent media, and the pack being sent."""
        return self.root / "media"

    @property
    def parent(self) -> Path:
        """The folder of the run's own warm parent, if it has one in a sandbox."""
        return self.root / "parent"

    @property
    def parent_log(self) -> Path:
        return self.root / "parent.log"

    @property
    def resolver(self) -> Path:
        """`/etc/resolv.conf` of a run in a container, if its network has name servers of its own."""
        return self.root / "resolv.conf"

    @property
    def launches(self) -> Path:
        """The descriptions of processes for the run's own warm parent."""
        return self.root / "launches"

    @property
    def journals(self) -> Path:
        return self.root / "journal"

    def journal(self, stream: str) -> Path:
        """The journal of a stream: `reports`, `logs` or `profile`."""
        return self.journals / stream

    def output(self, rank: int, stream: str) -> Path:
        """The file of a rank's stdout or stderr."""
        return self.logs / f"{rank}.{stream}"

    def make(self) -> None:
        """Create the directories that ranks write to, and the file for unsent frames, which ranks may not create themselves."""
        for path in (*self.folders_of_trial, self.latest, self.place, self.link, self.uploads):
            path.mkdir(parents=True, exist_ok=True)
        self.unsent.touch()


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """The worker's data directory; only its user can read it."""

    root: Path

    @property
    def isolation(self) -> Path:
        return self.root / "isolation.json"

    @property
    def images(self) -> Path:
        return self.root / "images.json"

    @property
    def identity(self) -> Path:
        return self.root / "identity"

    @property
    def parent(self) -> Path:
        return self.root / "parent"

    def parent_of(self, environment: str) -> Path:
        """The directory of an environment's warm parent; the default one for an empty name."""
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
    def last_set(self) -> Path:
        """The sender of the last accepted desired set."""
        return self.root / "last-desired-set.json"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def numbering(self) -> Path:
        """Journal positions of runs that left this worker and may return."""
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

    @property
    def has_older_runs(self) -> bool:
        """Whether a daemon that had one socket for all runs left runs here."""
        return any(not RunPaths(folder).link.exists() for folder in self.runs.iterdir())

    def run(self, run_id: RunId) -> RunPaths:
        """The directory of a run."""
        return RunPaths(self.runs / str(run_id))

    def make(self, is_shared: bool) -> None:
        """Create the directories, for this user only; with `is_shared` another user may pass through to a run's directory by its name."""
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
        """Lock this directory for this process; the descriptor holds the lock.

        Raises:
            Rejected: Another daemon uses it.
        """
        descriptor = os.open(self.root / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Rejected(
                "directory_taken",
                f"another worker already uses {self.root}",
                hint="set MUSTER_WORKER__DIRECTORY to a different directory for each worker",
            ) from None
        wire.write_pid(descriptor)
        return descriptor
