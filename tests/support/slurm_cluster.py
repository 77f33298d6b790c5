"""A Slurm cluster of one node on this machine: the real daemons of the distribution's packages, in a folder, on loopback, as long as the tests."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.missing_dependency import need

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
CORES, GPUS = 8, ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
TIMEOUT_S = 30.0
_CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
ReturnToService=2
KillWait=5
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} Gres=gpu:a100:{gpus}
PartitionName=cpus Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=gpus Nodes={host} MaxTime=INFINITE State=UP
PartitionName=closed Nodes={host} State=DRAIN
"""


@dataclass(frozen=True)
class Cluster:
    """Its programs run with `environment`."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout + done.stderr

    def clear(self) -> None:
        """Ends every job, and waits until the node is free."""
        self.run("scancel", "--user=root", "--signal=KILL", "--full")
        self.run("scancel", "--user=root")
        _until(lambda: not self.run("squeue", "--noheader").strip(), "its jobs did not end")


@contextmanager
def slurm_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster in `folder`, ready for jobs; gone with all its processes on leaving.

    Skips the test where nobody is root, or Slurm is not installed; in CI the latter fails it.
    """
    need(DAEMONS, "apt-get install slurmctld slurmd slurm-client munge")
    if os.geteuid() != 0:
        pytest.skip("slurmd starts jobs as root only")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    facts = {"folder": folder, "host": host, "cores": CORES, "gpus": len(GPUS)}
    conf = _CONF.format(controller=_free_port(), daemon=_free_port(), **facts)
    (folder / "slurm.conf").write_text(conf)
    (folder / "gres.conf").write_text(f"AutoDetect=off\nName=gpu Type=a100 File={','.join(GPUS)}\n")
    cluster = Cluster(folder)
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
    daemons = [
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock", *munge],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in daemons:
            with (folder / f"{command[0]}.out").open("wb") as log:
                started.append(subprocess.Popen(command, env=cluster.environment, stdout=log, stderr=log))
            if command[0] == "munged":
                _until((folder / "munge.sock").exists, "munged did not start")
        _until(lambda: "idle" in cluster.run("sinfo", "--noheader"), f"no node came up; see {folder}")
        yield cluster
    finally:
        with suppress(AssertionError):
            cluster.clear()
        for process in reversed(started):
            process.terminate()
            process.wait(10)


def _until(holds: Callable[[], object], otherwise: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
