"""Starts programs of ours as processes of their own, forked from a warm parent of each (`warm_parent.py`), which lives as long as the session."""

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from tests.support.warm_parent import STATUS_BYTES

ROOT = Path(__file__).parents[2]
WITHOUT_TORCH = {"MUSTER_WORKER__WARM": "muster._trial"}
"""For workers whose scripts do not train: importing torch is seconds of processor time, at each start of a warm parent of theirs."""


class Forked:
    """A process that is no child of this one: its parent tells of it."""

    def __init__(self, status_pipe: int) -> None:
        self._status_pipe = status_pipe
        self._returncode: int | None = None
        self.pid = self._read()

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the signal; None while the process lives."""
        return self._returncode if self._returncode is not None else self._look(0.0)

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError once it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout_s: float) -> int | None:
        if not select.select([self._status_pipe], [], [], timeout_s)[0]:
            return None
        self._returncode = self._read()
        os.close(self._status_pipe)
        return self._returncode

    def _read(self) -> int:
        text = os.read(self._status_pipe, STATUS_BYTES)
        assert text, "a warm parent has ended; what it wrote is above"
        return int(text)


class Warm(Forked):
    """With the words of `asyncio.subprocess.Process`."""

    def __init__(self, status_pipe: int, stderr: asyncio.StreamReader | None = None) -> None:
        super().__init__(status_pipe)
        self.stderr = stderr

    async def wait(self) -> int:
        """Return its exit code, when it has one."""
        while (code := self.returncode) is None:
            await self._wait_for_status()
        return code

    async def _wait_for_status(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        watched = os.dup(self._status_pipe)  # a loop knows one reader of a descriptor, and several may wait
        loop.add_reader(watched, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(watched)
            os.close(watched)


class WarmHere(Forked):
    """With the words of `subprocess.Popen`."""

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Hold up this thread until it has ended. Raises subprocess.TimeoutExpired."""
        code = self.returncode if self.returncode is not None else self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Does nothing once it has ended."""
        with suppress(ProcessLookupError):
            super().send_signal(number)


class Parent:
    """The warm parent of one program."""

    def __init__(self, program: str) -> None:
        self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.support.warm_parent", program]
        with its:
            self._process = subprocess.Popen(command, stdin=its.fileno(), cwd=ROOT)

    def fork(
        self,
        environment: Mapping[str, str],
        output: int,
        errors: int,
        *,
        arguments: Sequence[str] = (),
        folder: Path = ROOT,
        given: int | None = None,
    ) -> int:
        """Start one process, with nothing on its standard input unless that is given; returns where its id and its end are told."""
        status_pipe, status_writer = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        asked = {"arguments": arguments, "folder": str(folder), "environment": dict(environment)}
        try:
            standard = (nothing if given is None else given, output, errors)
            socket.send_fds(self._control, [json.dumps(asked).encode()], [*standard, status_writer])
        finally:
            os.close(status_writer)
            os.close(nothing)
        return status_pipe


@cache
def parent_of(program: str) -> Parent:
    return Parent(program)


async def start(
    program: str,
    environment: Mapping[str, str],
    *,
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
) -> Warm:
    """Start `python -m PROGRAM` in the repository's folder; what it says goes where ours goes, unless it is told otherwise."""
    status_pipe = parent_of(program).fork(
        environment, output.fileno() if output else 1, errors.fileno() if errors else 2
    )
    return await asyncio.to_thread(Warm, status_pipe)


async def start_with_stderr(program: str, environment: Mapping[str, str]) -> Warm:
    """The same, with its standard error read from `stderr`."""
    reading, writing = os.pipe()
    status_pipe = parent_of(program).fork(environment, 1, writing)
    os.close(writing)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    return await asyncio.to_thread(Warm, status_pipe, reader)


def start_here(program: str, environment: Mapping[str, str], log: IO[bytes]) -> WarmHere:
    """The same without a loop, with all that it says in `log`."""
    return WarmHere(parent_of(program).fork(environment, log.fileno(), log.fileno()))
