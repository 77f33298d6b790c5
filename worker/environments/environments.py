"""Python environments of experiments: the packages of a requirements file, installed once per machine on top of the worker's own packages."""

import asyncio
import errno
import hashlib
import json
import os
import re
import signal
import site
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import structlog

from muster.errors import MusterError, Rejected
from worker.core.faults import CausedByTrial
from worker.environments.constraints import find_conflict, load_constraints
from worker.environments.install_command import Step, StepResult, run_step
from worker.environments.installation_limits import NO_LIMITS, InstallationLimits
from worker.environments.pip_errors import find_trouble
from worker.machine.host import Machine
from worker.sandbox.accounts import Account
from worker.sandbox.sandboxing import Sandboxing
from worker.sandbox.trial_files import TrialFile, remove_tree

PROGRESS_EVERY_S = 60.0
"""How often a waiting run logs pip's progress."""
MAX_ENVIRONMENTS = 16
"""Maximum number of environments; the least recently used ones are deleted."""
MAX_OUTPUT_LINES = 20
_READY = ".ready"
_CONSTRAINTS = "constraints.txt"
_TEMPORARY = ".temporary"
"""Temporary directory of builds; deleted with the environment."""
_PIP_LOG = "pip.log"
_PIP_LOG_BYTES = 64 * 1024 * 1024
"""So much of pip's log is read after a failure: only there it says whether the index answered."""
_CHECK = "import sys; from muster.runtime.__main__ import import_all; import_all(sys.argv[1].split(','))"
_USED_BY_PIP = ("PATH", "LANG", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
_SHARED = re.compile(
    r"(?:#.*)?"
    r"|(?:--no-index|--pre|--prefer-binary|--require-hashes)"
    r"|(?:-i|--index-url|--extra-index-url)[ =]\s*https?://\S+"
    r"|--(?:no-binary|only-binary|trusted-host)[ =]\s*[^\s/]+"
    # a package: its name is that of no archive, and nothing behind it can be a path
    r"|(?![^\s\[<>=!~;@#]*\.(?:whl|zip|tgz|tbz|txz|tlz|tar\b))[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]/]*\])?"
    r"\s*(?:@\s*(?:git\+)?(?:https|ssh)://\S+(?:\s[^/]*)?|(?:[<>=!~(;#\s][^/]*)?)",
    re.IGNORECASE,
)
"""Lines that mean the same whatever code they lie beside; all others may name files of it."""
_EDITABLE = re.compile(r"^\s*(?:-e\b|--editable\b)", re.MULTILINE)
_OF_CODE = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ELOOP,
        errno.EINVAL,
        errno.EXDEV,
        errno.EACCES,
        errno.ENAMETOOLONG,
    }
)
"""Errors that say what the experiment's code contains, not that the disk is broken."""
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
_log = structlog.get_logger()

LogLine = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EnvironmentRequest:
    """A run's request for an environment: a requirements file in its code."""

    code: Path
    requirements: str
    tenant: UUID
    code_hash: str | None

    def read(self) -> str:
        """Return the file's text.

        Raises:
            CausedByTrial: The file is missing, is not text, or installs something that cannot be shared.
            Rejected: The disk is broken.
        """
        try:
            with TrialFile(self.code, self.requirements).open() as file:
                text = file.read().decode()
        except (OSError, UnicodeDecodeError) as error:
            is_disk = isinstance(error, OSError) and error.errno not in _OF_CODE
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise (Rejected if is_disk else CausedByTrial)(
                "requirements_unreadable",
                f"{self.requirements} in the experiment's code cannot be read: {why}",
                place="environment.requirements",
            ) from None
        if _EDITABLE.search(text):
            raise CausedByTrial(
                "requirements_editable",
                f"{self.requirements} installs a package in editable mode (-e), which other runs cannot share",
                hint="list the directory without -e, or import it from the experiment's code",
            )
        return text


@dataclass(frozen=True, slots=True)
class _Place:
    """The folder of an environment in creation, and the user that installs it. The user owns the folder: nothing in it is read as the
    worker's own."""

    folder: Path
    builder: Account | None


@dataclass(slots=True)
class _Making:
    """An environment in creation, shared by all runs that wait for it; `printed`: pip's last output line; `failed_output`: its output, if it
    has failed."""

    printed: str = ""
    failed_output: str = ""
    task: asyncio.Task[None] = field(init=False)

    def note(self, line: str) -> None:
        """Record pip's last output line; called from pip's thread."""
        self.printed = line or self.printed

    async def wait(self, requirements: str, log: LogLine) -> None:
        """Wait until it is ready or has failed. A run that ends meanwhile does not cancel it for others."""
        began = time.monotonic()
        while not (await asyncio.wait({self.task}, timeout=PROGRESS_EVERY_S))[0]:
            at = f": {self.printed}" if self.printed else ""
            log(f"pip has been installing {requirements} for {(time.monotonic() - began) / 60:.0f} min{at}")
        self.task.result()


class Environments:
    """Environments by name, below one directory; concurrent requests for one environment share its creation. Tenants share nothing."""

    def __init__(
        self,
        root: Path,
        account: Account | None,
        sandboxing: Sandboxing | None,
        variables: Mapping[str, str],
        warm: str,
        limits: InstallationLimits = NO_LIMITS,
    ) -> None:
        """Keep environments below `root`. `warm`: modules that a trial's process may find imported, comma-separated. `limits`: in sandboxes."""
        self._limits = limits
        self._root = root
        self._account = account
        self._sandboxing = sandboxing
        self._warm = warm
        self._variables = dict(variables)
        self._building: dict[str, _Making] = {}

    async def make(self, request: EnvironmentRequest, log: LogLine) -> str:
        """Return the environment's name once it is ready. The packages that every trial needs are not changed (`constraints`).

        Raises:
            CausedByTrial: The file cannot be read, what it lists cannot be installed or violates a constraint, or trials cannot start
                with the installed packages.
            Rejected: pip failed for another reason: the index did not answer, or the machine lacks something.
            OSError: The disk is full or broken.
        """
        name = await asyncio.to_thread(self._name_of, request, request.read())
        if not (self._root / name / _READY).exists():
            began = time.monotonic()
            building = self._building.get(name)
            if building is None:
                log(f"creating an environment for {request.requirements}: pip installs its packages")
                building = self._building[name] = _Making()
                task = asyncio.create_task(self._build(name, request, building), name=f"environment {name}")
                task.add_done_callback(lambda _: self._building.pop(name, None))
                building.task = task
            else:
                log(f"waiting for the environment for {request.requirements}, which another run is creating")
            try:
                await building.wait(request.requirements, log)
            except MusterError:
                if building.failed_output:
                    log(f"the last lines of pip:\n{_end_of(building.failed_output)}")
                raise
            log(f"the environment for {request.requirements} is ready after {time.monotonic() - began:.1f} s")
        (self._root / name / _READY).touch()
        return name

    @property
    def has_parents(self) -> bool:
        """Whether environments may have warm parents. Not if trials run as another user: a parent runs as the worker's user, and
        would execute code that trials installed."""
        return self._account is None and self._sandboxing is None

    def folder(self, name: str) -> Path:
        """Return the folder of an environment."""
        return self._root / name

    def interpreter(self, name: str) -> str:
        """Return the Python interpreter of an environment."""
        return str(self._root / name / "bin" / "python")

    def over(self, machine: Machine, name: str) -> Machine:
        """Return the machine with the environment's programs first in its path."""
        path = os.pathsep.join((str(self._root / name / "bin"), machine.path))
        interpreter = "" if self.has_parents else self.interpreter(name)
        return replace(machine, path=path, interpreter=interpreter)

    def _name_of(self, request: EnvironmentRequest, text: str) -> str:
        code = None if _is_shared(text) else request.code_hash
        parts = [text, code, str(request.tenant), sys.version, sys.prefix, *_base(), _constraints()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    async def _build(self, name: str, request: EnvironmentRequest, making: _Making) -> None:
        folder = self._root / name
        place = await asyncio.to_thread(self._begin, folder)
        python = self.interpreter(name)
        try:
            await self._make_venv(place, request, making)
            (folder / _site_packages() / "worker.pth").write_text(_base_pth())
            (folder / _CONSTRAINTS).write_text(_constraints())
            install = [python, "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir"]
            install += ["-c", str(folder / _CONSTRAINTS), "--log", str(folder / _TEMPORARY / _PIP_LOG)]
            # With -v, pip passes on a build's output at once instead of buffering all of it.
            options = [
                "-v",
                "--disable-pip-version-check",
                "--progress-bar",
                "off",
                "-r",
                request.requirements,
            ]
            await self._install(place, [*install, *options], request, making)
            await asyncio.to_thread(self._finish, folder)
            await self._check(place, request, making)
            (folder / _READY).touch()
        except BaseException:
            await asyncio.to_thread(remove_tree, folder)
            raise
        _log.info("created an environment", name=name)

    def _begin(self, folder: Path) -> _Place:
        self._make_room()
        remove_tree(folder)
        for made in (folder, folder / _TEMPORARY):
            made.mkdir(mode=0o755)
        if (account := self._builder_of(folder)) is not None:
            for made in (folder, folder / _TEMPORARY):
                os.chown(made, account.user, account.group)
        return _Place(folder, account)

    def _finish(self, folder: Path) -> None:
        """Make it read-only: runs of the same user must not change it for each other."""
        remove_tree(folder / _TEMPORARY)
        if self._account is not None or self._sandboxing is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))
        (folder / _READY).unlink(missing_ok=True)

    def _make_room(self) -> None:
        found = sorted(self._root.glob(f"*/{_READY}"), key=lambda ready: ready.stat().st_mtime)
        for ready in found[: max(0, len(found) - MAX_ENVIRONMENTS + 1)]:
            remove_tree(ready.parent)

    async def _make_venv(self, place: _Place, request: EnvironmentRequest, making: _Making) -> None:
        command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(place.folder)]
        ended = await self._run_step(place, command, request, making.note)
        if ended.over or ended.code:
            raise _interrupted(request, ended.over or _error_summary(ended.output))

    async def _install(
        self, place: _Place, command: list[str], request: EnvironmentRequest, making: _Making
    ) -> None:
        """Run pip as the trials' user: packages execute code while they are installed."""
        ended = await self._run_step(place, command, request, making.note)
        if not ended.over and not ended.code:
            return
        making.failed_output = ended.output
        if conflict := find_conflict(ended.output, request.requirements, load_constraints()):
            raise conflict
        detail = f"pip was stopped, {ended.over}" if ended.over else _error_summary(ended.output)
        log = await asyncio.to_thread(self._read_log, place)
        if trouble := find_trouble(ended.code, log + ended.output, is_stopped=bool(ended.over)):
            raise _interrupted(request, f"{trouble}; {detail}")
        raise _failed(request, f"could not be installed: {detail}")

    def _read_log(self, place: _Place) -> str:
        path = f"{place.folder.name}/{_TEMPORARY}/{_PIP_LOG}"
        with suppress(OSError), TrialFile(self._root, path).open() as file:
            return file.read(_PIP_LOG_BYTES).decode(errors="replace")
        return ""

    async def _check(self, place: _Place, request: EnvironmentRequest, making: _Making) -> None:
        """Import the modules that every trial needs: if an installed package breaks them, no trial would ever start."""
        command = [self.interpreter(place.folder.name), "-I", "-c", _CHECK, self._warm]
        ended = await self._run_step(place, command, request, making.note)
        if ended.over or ended.code:
            last = ended.output.strip().rpartition("\n")[2]
            detail = ended.over or last or f"Python ended with code {ended.code}"
            if ended.code in _KILLED and not ended.over:
                raise _interrupted(request, "the process that tried the packages was killed")
            raise _failed(request, f"installs packages that prevent trials from starting: {detail}")

    async def _run_step(
        self, place: _Place, command: list[str], request: EnvironmentRequest, note: LogLine
    ) -> StepResult:
        folder = place.folder
        environment = {**self._variables, "HOME": str(folder), "TMPDIR": str(folder / _TEMPORARY)}
        if self._sandboxing is None:
            step = Step(command, request.code, environment, self._account)
            return await asyncio.to_thread(run_step, step, note)
        with TemporaryDirectory(prefix=".sandbox-", dir=self._root) as temporary:
            (Path(temporary) / "root").mkdir()
            assert place.builder is not None
            async with self._sandboxing.installation_network() as network:
                spec = self._sandboxing.describe_installation(
                    Path(temporary) / "root", place.builder, folder, request.code, network
                )
                with self._limits.applied(folder.name) as applied:
                    (Path(temporary) / "spec.json").write_text(json.dumps({**asdict(spec), **applied}))
                    over_disk = partial(self._limits.over_disk, folder, place.builder.user)
                    step = Step(
                        command, request.code, environment, None, Path(temporary) / "spec.json", over_disk
                    )
                    return await asyncio.to_thread(run_step, step, note)

    def _builder_of(self, folder: Path) -> Account | None:
        """Return the user that installs an environment: installed packages may execute code."""
        return self._sandboxing.account_of(folder) if self._sandboxing else self._account


def _is_shared(requirements: str) -> bool:
    """Whether a requirements file installs the same for all code: no line may name a file of the code, in any of pip's notations."""
    lines = requirements.replace("\\\n", "").splitlines()
    return "$" not in requirements and all(_SHARED.fullmatch(line.strip()) for line in lines)


def installing_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that pip inherits from the daemon: those for finding packages."""
    return {
        name: value for name, value in environment.items() if name in _USED_BY_PIP or name.startswith("PIP_")
    }


def _failed(request: EnvironmentRequest, detail: str) -> CausedByTrial:
    return CausedByTrial(
        "requirements_failed",
        f"{request.requirements} {detail}",
        place="environment.requirements",
        hint=f"correct {request.requirements} and submit the experiment again",
    )


def _interrupted(request: EnvironmentRequest, detail: str) -> Rejected:
    return Rejected(
        "installation_interrupted",
        f"{request.requirements} could not be installed, and it may not be to blame: {detail}",
        place="environment.requirements",
        hint="the platform tries again; if that does not help, check that the worker reaches the package index and has free space",
    )


def _end_of(output: str) -> str:
    return "\n".join([line.rstrip() for line in output.splitlines() if line.strip()][-MAX_OUTPUT_LINES:])


def _error_summary(output: str) -> str:
    """Return pip's errors; without any, the end of its output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(errors or lines[-MAX_OUTPUT_LINES:]) or "pip printed nothing"


@cache
def _base() -> tuple[str, ...]:
    """Return the worker's own packages, which pip's choices depend on."""
    return tuple(sorted(f"{one.name} {one.version}" for one in distributions()))


def _constraints() -> str:
    """Return the constraints file for every environment."""
    return "".join(f"{one.line}\n" for one in load_constraints())


def _site_packages() -> Path:
    return Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


def _base_pth() -> str:
    """Return a .pth file with the worker's own package directories: a venv over a venv would see only the system's packages."""
    return "".join(f"import site; site.addsitedir({folder!r})\n" for folder in site.getsitepackages())
