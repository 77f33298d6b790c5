"""Description of the sandbox of a run. It holds no secret: the warm parent keeps it while the run lives."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """The sandbox of one run on one machine, shared by its ranks.

    Attributes:
        user: User and group id of all its processes.
        place: An empty folder of the worker, over which the root is mounted; its own for each run.
        hostname: Its host name.
        mounts: Source and target path, and `ro` or `rw`; parents before their children. Missing sources are left out.
        files: Texts of files that it has in addition, by path.
        devices: Paths of devices besides the usual ones of a program.
        shm_bytes: Size limit of /dev/shm.
        network: Path of its network namespace; empty: the worker's own.
    """

    user: int
    place: str
    hostname: str
    mounts: list[list[str]]
    files: dict[str, str] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    shm_bytes: int = 64 * 1024**2
    network: str = ""
