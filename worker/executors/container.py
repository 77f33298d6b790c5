"""A run's container, as a sandbox for its warm parent: the commands of podman, or of Docker, that start and end it."""

import hashlib
import os
import resource
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from muster import wire
from muster.errors import Rejected
from shared.ids import RunId, WorkerId
from worker.executors.run_sandbox import StartCommand
from worker.executors.seccomp_profile import write_profile

SDK = "/opt/muster"
"""Where the SDK is mounted: a folder on Python's path that contains only `muster`."""
MAX_NPROC = 32_768
"""Podman lowers its own limit to this, and cannot raise it. The kernel counts it per user; a container's own limit is `--pids-limit`."""
MAX_CHARACTERS = 1000
"""The most that is read of an engine's message."""
_COMMAND_S = 30.0
_PASSED_ON = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
              "CONTAINERS_REGISTRIES_CONF", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")  # fmt: skip
_REPLACE = '{engine} rm --force "$0" > /dev/null 2>&1; exec "$@"'


@dataclass(frozen=True, slots=True)
class Engine:
    """The container engine of this machine: `podman` or `docker` with global options. `profile`: the file with its filter of system calls."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    profile: Path

    @property
    def is_podman(self) -> bool:
        """Whether it takes podman's options; Docker's are a part of them."""
        return Path(self.command[0]).name.startswith("podman")

    @property
    def rights(self) -> tuple[str, ...]:
        """Options without which no container runs."""
        hidden = ("--security-opt", "mask=/sys/fs/cgroup") if self.is_podman else ()
        options = ("--cap-drop", "ALL", "--read-only", "--security-opt", "no-new-privileges")
        # An image's volumes would be folders of the machine without a limit, and its health checks processes of the engine's timers.
        own = ("--no-healthcheck", *(("--image-volume", "ignore") if self.is_podman else ()))
        return (*options, "--security-opt", f"seccomp={self.profile}", *hidden, *own)

    def run(
        self, *arguments: str, timeout_s: float = _COMMAND_S, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command of the engine to its end. Blocks.

        Raises:
            OSError: The engine is not installed, or does not answer in time.
        """
        try:
            return subprocess.run(
                [*self.command, *arguments],
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError(f"{self.command[0]} {arguments[0]} did not end within {timeout_s:g} s") from None


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the machine in a container."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Limits of a container. `memory_bytes`, `file_bytes` None: no limit; `shm_bytes` 0: the engine's default."""

    processes: int
    open_files: int
    memory_bytes: int | None = None
    file_bytes: int | None = None
    shm_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Container:
    """A container of one run on this machine; a `RunSandbox`.

    `user`: uid and gid of all its processes; None for a rootless engine, where they have the worker's. `devices`: arguments of `--device`.
    `network`: the network namespace, `host` or `ns:PATH`.
    """

    engine: Engine
    name: str
    image: str
    folder: Path
    launches: Path
    log: Path
    user: tuple[int, int] | None
    mounts: tuple[Mount, ...]
    limits: ContainerLimits
    python_path: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    add_capabilities: tuple[str, ...] = ()
    network: str = "host"

    @property
    def owner(self) -> int | None:
        """See `RunSandbox`."""
        return self.user[0] if self.user else None

    def start_command(self, arguments: Sequence[str]) -> StartCommand:
        """See `RunSandbox`."""
        path = ":".join(filter(None, (SDK, self.python_path)))
        mounts = [_mount(one) for one in (*self.mounts, sdk_mount())]
        run = [
            *(*self.engine.command, "run", "--rm", "--name", self.name, "--pull", "never", "--log-driver", "none"),
            *_repeated("--label", [f"{name}={value}" for name, value in self.labels.items()]),
            *("--network", self.network),
            *self._rights(),
            *self._limits(),
            *_repeated("--mount", mounts),
            *_repeated("--device", self.devices),
            *("--env", f"PYTHONPATH={path}", "--env", "PYTHONUNBUFFERED=1", "--env", "OPENBLAS_NUM_THREADS=1"),
            *("--workdir", "/", "--entrypoint", "python3", self.image, *arguments),
        ]  # fmt: skip
        replace = _REPLACE.format(engine=shlex.join(self.engine.command))
        return StartCommand(["/bin/sh", "-c", replace, self.name, *run], self.engine.environment)

    def end(self) -> None:
        """See `RunSandbox`."""
        with suppress(OSError):
            self.engine.run("rm", "--force", *(["--time", "0"] if self.engine.is_podman else []), self.name)

    def _rights(self) -> list[str]:
        user = ["--userns", "keep-id"] if self.user is None else ["--user", f"{self.user[0]}:{self.user[1]}"]
        return [
            *user,
            *self.engine.rights,
            *_repeated("--cap-add", self.add_capabilities),
        ]

    def _limits(self) -> list[str]:
        limits = self.limits
        found = ["--pids-limit", str(limits.processes), "--ulimit", "core=0:0"]
        found += ulimit("nofile", limits.open_files)
        found += ulimit("nproc", MAX_NPROC)
        if limits.memory_bytes is not None:
            found += ["--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes)]
        if limits.file_bytes is not None:
            found += ulimit("fsize", limits.file_bytes)
        return found + (["--shm-size", f"{limits.shm_bytes}b"] if limits.shm_bytes else [])


def find_engine(command: str | None, environment: Mapping[str, str], profile: Path) -> Engine | None:
    """Return the configured engine, else podman if it is installed; None if there is none."""
    passed = {"PATH": os.defpath} | {name: environment[name] for name in _PASSED_ON if name in environment}
    if command:
        return Engine(tuple(shlex.split(command)), passed, write_profile(profile))
    has_podman = shutil.which("podman", path=passed["PATH"]) is not None
    return Engine(("podman",), passed, write_profile(profile)) if has_podman else None


def require_engine(engine: Engine | None) -> None:
    """Check that the engine of a worker that runs containers only can run some. Blocks.

    Raises:
        Rejected: There is no engine, or it does not work for this user.
    """
    why = "none is installed"
    if engine is not None:
        try:
            asked = engine.run("info")
            why = last_line(asked.stderr) or "its command `info` failed" if asked.returncode else ""
        except OSError as error:
            why = str(error)
    if why:
        raise Rejected(
            "no_container_engine",
            f"this worker runs containers only and needs a container engine: {why}",
            place="MUSTER_WORKER__SANDBOX",
            hint="install podman, or set MUSTER_WORKER__CONTAINER_ENGINE to an engine that the worker's user may use",
        )


def last_line(output: bytes) -> str:
    """Return the last line of an engine's output that is not empty."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:MAX_CHARACTERS] if lines else ""


def container_name(worker: WorkerId, directory: Path, run: RunId) -> str:
    """Return the name of a run's container: unique on the machine, also among workers of the same id."""
    unique = hashlib.sha256(os.fsencode(directory)).hexdigest()[:8]
    return f"muster-{worker}-{unique}-{run}"


def ulimit(name: str, value: int) -> list[str]:
    """Return a limit of at most this process's own: without privileges the engine cannot exceed it, and its default may be higher."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    limits = [one for one in (value, hard) if one != resource.RLIM_INFINITY]
    return ["--ulimit", f"{name}={min(limits)}:{min(limits)}"] if limits else []


def sdk_mount() -> Mount:
    """Return the mount of the SDK. Ranks need nothing else of the platform."""
    return Mount(Path(wire.__file__).parents[1], f"{SDK}/muster")


def _mount(one: Mount) -> str:
    """Return a value of `--mount`. A comma in a path would start another option."""
    for path in (str(one.source), one.target):
        if "," in path or '"' in path:
            raise Rejected(
                "mount_invalid", f"{path} cannot be mounted: paths must not contain ',' and quotes"
            )
    return f"type=bind,source={one.source},target={one.target}" + (",readonly" if one.read_only else "")


def _repeated(option: str, values: Sequence[str]) -> list[str]:
    return [argument for value in values for argument in (option, value)]
