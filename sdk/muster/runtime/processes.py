"""The processes of runs: who runs, how they ended, and what they left behind. Exits go to disk before they are told, where it has room."""

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from muster.runtime.orphans import is_helper, name_of, process_list_text, run_of
from muster.wire import ProcessFrame
from muster.wire.process_records import read_ended


class ProcessTable:
    """All processes that the warm parent started, by name; it alone reaps them."""

    def __init__(self, directory: Path) -> None:
        """Load the exits that an earlier parent left."""
        self._directory = directory
        self._processes: dict[str, ProcessFrame] = {}
        self._unsaved: set[str] = set()
        self._strays: dict[int, frozenset[str]] = {}
        directory.mkdir(mode=0o700, exist_ok=True)
        self._processes.update((process.name, process) for process in read_ended(directory))

    def __iter__(self) -> Iterator[ProcessFrame]:
        return iter(list(self._processes.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._processes

    def has_living(self) -> bool:
        """Whether any process runs."""
        return any(process.exit_code is None for process in self._processes.values())

    def add(self, process: ProcessFrame) -> ProcessFrame:
        """Keep a process, in memory and on disk; a disk that cannot take it now gets it later. Ranks must not die for a record."""
        self._processes[process.name] = process
        self._unsaved.add(process.name)
        self.save_rest()
        return process

    def save_rest(self) -> None:
        """Write what is not on disk yet; what it has no room for stays for the next call."""
        for name in list(self._unsaved):
            with suppress(OSError):
                self._save(self._processes[name])
                self._unsaved.discard(name)

    def reap(self) -> list[ProcessFrame]:
        """Collect all that ended, with their leftovers; orphans of no name are only waited for."""
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            for process in self:
                if process.pid == pid and process.exit_code is None:
                    code = os.waitstatus_to_exitcode(status)
                    ended.append(self.add(replace(process, exit_code=code)))
        return self._kill_leftovers(ended) if ended else []

    def kill(self, run: str, number: int, name: str = "") -> None:
        """Signal the processes of a run, or the one of that name; 9 takes their whole sessions."""
        for process in self:
            if process.run != run or process.exit_code is not None or (name and process.name != name):
                continue
            if number == signal.SIGKILL:
                kill_session(process.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with suppress(ProcessLookupError):  # a fresh fork may not lead its group yet
                os.kill(process.pid, number)

    def forget(self, run: str) -> None:
        """Drop the ended processes of a run."""
        for process in self:
            if process.run == run and process.exit_code is not None:
                del self._processes[process.name]
                self._unsaved.discard(process.name)
                for path in (self._path(process.name), self._path(process.name).with_suffix(".new")):
                    path.unlink(missing_ok=True)

    def _kill_leftovers(self, ended: list[ProcessFrame]) -> list[ProcessFrame]:
        """End what is left of ended sessions, and what had left them; return who ended, the last of each run with what was found of it.

        An orphan outside its session ends with the run that it can be told to be of. Any other may belong to each run that lived when it was
        first seen: the last one's end takes it.
        """
        me, sessions = os.getpid(), {process.pid: process.run for process in ended}
        seen = self._strays.keys()
        living = {process.name for process in self if process.exit_code is None}
        known = {process.pid for process in self if process.exit_code is None}
        processes = list(running_processes())
        left_behind = {pid: sessions[session] for pid, _, session in processes if session in sessions}
        strays = {pid for pid, parent, _ in processes if parent == me and pid not in known}
        over = set(sessions.values()) - {one.run for one in self if one.exit_code is None and not one.port}
        named = {pid: run for pid in strays - left_behind.keys() if (run := run_of(pid, over))}
        self._strays = {pid: self._strays.get(pid, frozenset(living)) & living for pid in strays}
        unnamed = [pid for pid, owners in self._strays.items() if not owners]
        alone = dict.fromkeys(set(unnamed) - seen, ended[0].run) if len(set(sessions.values())) == 1 else {}
        told = _told(alone | named | left_behind, ended)
        for pid in (*left_behind, *named, *unnamed):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for session in sessions if left_behind else ():
            kill_session(session)
        return [self.add(replace(one, left=told[one.name])) if one.name in told else one for one in ended]

    def _save(self, process: ProcessFrame) -> None:
        target = self._path(process.name)
        temporary = target.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(process)))
        temporary.replace(target)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name.replace('/', '_')}.json"


def _told(left: Mapping[int, str], ended: list[ProcessFrame]) -> dict[str, str]:
    """What is to be said of the processes that runs left, by the name of the run's process that ended last."""
    last = {process.run: process.name for process in ended}
    found: dict[str, list[str]] = {}
    for pid, run in left.items():
        if not is_helper(pid):
            found.setdefault(last[run], []).append(name_of(pid))
    return {name: process_list_text(names) for name, names in found.items()}


def running_processes() -> Iterator[tuple[int, int, int]]:
    """(pid, parent, session) of every process, as far as /proc shows."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            stat = Path(entry.path, "stat").read_text(errors="replace")  # a name may be cut within a letter
            fields = stat[stat.rindex(")") + 2 :].split()
            if fields[0] != "Z":
                yield int(entry.name), int(fields[1]), int(fields[3])


def kill_session(session: int) -> None:
    """SIGKILL to every process of a session; forks made meanwhile are caught by the second look."""
    for _ in range(5):
        members = [pid for pid, _, theirs in running_processes() if theirs == session]
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not members:
            return
