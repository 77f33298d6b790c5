"""Environments of experiments: what a requirements file names, installed once per machine over what the worker itself has."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import site
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from uuid import UUID

import structlog

from muster.errors import Rejected
from worker.launch.accounts import Account
from worker.launch.machine import Machine

BUILD_S = 1800.0
MOST_KEPT = 16
"""So many environments stay; of more, those go first that were used longest ago."""
SAID_LINES = 20
_READY = ".ready"
_CHECK = "import sys; from muster.runtime.__main__ import import_all; import_all(sys.argv[1].split(','))"
_USED_BY_PIP = ("PATH", "LANG", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
_REFERS = re.compile(r"^\s*(?:-[rc]\b|--(?:requirement|constraint)\b|\.{0,2}/)|file:", re.MULTILINE)
_EDITABLE = re.compile(r"^\s*(?:-e\b|--editable\b)", re.MULTILINE)
_log = structlog.get_logger()

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a run asks for: a requirements file within its code."""

    code: Path
    requirements: str
    tenant: UUID
    code_hash: str | None

    def read(self) -> str:
        """The file's text.

        Raises:
            Rejected: There is no such file, it is no text, or it asks for what cannot be shared.
        """
        path = self.code / self.requirements
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise Rejected(
                "requirements_unreadable",
                f"{self.requirements} of the experiment's code cannot be read: {why}",
                place="environment.requirements",
            ) from None
        if _EDITABLE.search(text):
            raise Rejected(
                "requirements_editable",
                f"{self.requirements} installs a folder in place (-e), which other runs could not share",
                hint="name the folder without -e, or import it from the experiment's code",
            )
        return text


class Environments:
    """Environments by name, under one folder; whoever asks while one is made waits for it. Nothing crosses tenants."""

    def __init__(self, root: Path, account: Account | None, variables: Mapping[str, str], warm: str) -> None:
        """Keep them under `root`. `warm`: the modules that a trial's process may find imported, by commas."""
        self._root = root
        self._account = account
        self._warm = warm
        self._variables = dict(variables)
        self._building: dict[str, asyncio.Task[None]] = {}

    async def make(self, wish: Wish, say: Say) -> str:
        """Return the environment's name, once it is there. What pip cannot install is the user's fault, with pip's own words.

        Raises:
            Rejected: The file cannot be read, pip failed, or no trial could start with what it installed.
            OSError: The disk is full or broken.
        """
        name = await asyncio.to_thread(self._name_of, wish, wish.read())
        if not (self._root / name / _READY).exists():
            began = time.monotonic()
            building = self._building.get(name)
            if building is None:
                say(f"an environment is made for {wish.requirements}: pip installs what it names")
                building = asyncio.create_task(self._build(name, wish), name=f"environment {name}")
                self._building[name] = building
                building.add_done_callback(lambda _: self._building.pop(name, None))
            else:
                say(f"the environment for {wish.requirements} is being made for another run; this one waits")
            # A run that ends meanwhile does not take it from the others.
            await asyncio.shield(building)
            say(f"the environment for {wish.requirements} is there after {time.monotonic() - began:.1f} s")
        (self._root / name / _READY).touch()
        return name

    @property
    def has_parents(self) -> bool:
        """Whether a warm parent may live in an environment. Not where trials have a user of their own: a parent is of the worker's user, and
        would run what theirs has installed."""
        return self._account is None

    def interpreter(self, name: str) -> str:
        """The Python of an environment."""
        return str(self._root / name / "bin" / "python")

    def over(self, machine: Machine, name: str) -> Machine:
        """The machine, with the environment's programs first in its path."""
        path = os.pathsep.join((str(self._root / name / "bin"), machine.path))
        interpreter = "" if self.has_parents else self.interpreter(name)
        return replace(machine, path=path, interpreter=interpreter)

    def _name_of(self, wish: Wish, text: str) -> str:
        # What lies in the code folder is part of it only where the file speaks of it.
        code = wish.code_hash if _REFERS.search(text) else None
        parts = [text, code, str(wish.tenant), sys.version, sys.prefix, *_base()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    async def _build(self, name: str, wish: Wish) -> None:
        folder = self._root / name
        await asyncio.to_thread(self._begin, folder)
        python = self.interpreter(name)
        try:
            await self._run(folder, [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], wish)
            (folder / _site_packages() / "worker.pth").write_text(_base_pth())
            install = [python, "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir"]
            quiet = ["--disable-pip-version-check", "--progress-bar", "off", "-r", wish.requirements]
            await self._run(folder, [*install, *quiet], wish)
            await asyncio.to_thread(self._finish, folder)
            await self._check(folder, wish)
            (folder / _READY).touch()
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        _log.info("an environment was made", name=name)

    def _begin(self, folder: Path) -> None:
        self._make_room()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o755)
        if self._account is not None:
            os.chown(folder, self._account.user, self._account.group)

    def _finish(self, folder: Path) -> None:
        """From here on it is read only: runs of the same user must not change it for each other."""
        if self._account is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))
        (folder / _READY).unlink(missing_ok=True)

    def _make_room(self) -> None:
        found = sorted(self._root.glob(f"*/{_READY}"), key=lambda ready: ready.stat().st_mtime)
        for ready in found[: max(0, len(found) - MOST_KEPT + 1)]:
            shutil.rmtree(ready.parent, ignore_errors=True)

    async def _run(self, folder: Path, command: list[str], wish: Wish) -> None:
        """Run a step of the making, as the trials' own user: what is installed may run code of its own."""
        code, output = await self._carry_out(folder, command, wish)
        if code is None:
            raise _failed(wish, f"could not be installed: pip was not done after {BUILD_S / 60:.0f} minutes")
        if code:
            raise _failed(wish, f"could not be installed: {_last_words(output)}")

    async def _check(self, folder: Path, wish: Wish) -> None:
        """Import what every trial starts from: where that was replaced by something that fails, none ever would, and its slots would be held."""
        command = [self.interpreter(folder.name), "-I", "-c", _CHECK, self._warm]
        code, output = await self._carry_out(folder, command, wish)
        if code != 0:
            said = output.strip().rpartition("\n")[2] or f"Python ended with code {code}"
            raise _failed(wish, f"installs what no trial can start with: {said}")

    async def _carry_out(self, folder: Path, command: list[str], wish: Wish) -> tuple[int | None, str]:
        environment = {**self._variables, "HOME": str(folder)}
        return await asyncio.to_thread(_carry_out, command, wish.code, environment, self._account)


def installing_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What pip may know of the daemon's own environment: where it finds packages."""
    return {
        name: value for name, value in environment.items() if name in _USED_BY_PIP or name.startswith("PIP_")
    }


def _carry_out(
    command: list[str], folder: Path, environment: dict[str, str], account: Account | None
) -> tuple[int | None, str]:
    """Run a command and return its exit code, None where it was out of time, and what it wrote. The event loop's own way takes no user."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        user=account.user if account else None,
        group=account.group if account else None,
        extra_groups=[] if account else None,
    )
    try:
        output, _ = process.communicate(timeout=BUILD_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, ""
    with suppress(ProcessLookupError):  # what it has left behind
        os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output.decode(errors="replace")


def _failed(wish: Wish, said: str) -> Rejected:
    return Rejected(
        "requirements_failed",
        f"{wish.requirements} {said}",
        place="environment.requirements",
    )


def _last_words(output: str) -> str:
    """The errors that pip named; without any, the end of what it wrote."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(errors or lines[-SAID_LINES:]) or "pip said nothing"


@cache
def _base() -> tuple[str, ...]:
    """What the worker itself has: pip has chosen what goes with it."""
    return tuple(sorted(f"{one.name} {one.version}" for one in distributions()))


def _site_packages() -> Path:
    return Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


def _base_pth() -> str:
    """All that the worker's own interpreter finds: a venv over a venv would see the system's packages only."""
    return "".join(f"import site; site.addsitedir({folder!r})\n" for folder in site.getsitepackages())
