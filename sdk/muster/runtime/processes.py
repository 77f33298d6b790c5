"""The processes of runs: running, ended, and left behind. Exit codes are written to disk before they are reported, if there is space."""

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from muster.runtime.orphans import is_helper, name_of, process_list_text, run_of
from muster.runtime.sandbox.sandboxes import Sandboxes
from muster.runtime.start_report import ReportReader
from muster.wire import ProcessFrame
from muster.wire.process_records import read_ended


class ProcessTable:
    """All processes started by the warm parent, by name; only this class reaps them."""

    def __init__(self, directory: Path, sandboxes: Sandboxes) -> None:
        """Load exits recorded by an earlier parent."""
        self._directory = directory
        self._sandboxes = sandboxes
        self._processes: dict[str, ProcessFrame] = {}
        self._unsaved: set[str] = set()
        self._strays: dict[int, frozenset[str]] = {}
        self._reports: dict[str, ReportReader] = {}
        directory.mkdir(mode=0o700, exist_ok=True)
        self._processes.update((process.name, process) for process in read_ended(directory))

    def __iter__(self) -> Iterator[ProcessFrame]:
        return iter(list(self._processes.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._processes

    def has_living(self) -> bool:
        """Whether any process is running."""
        return any(process.exit_code is None for process in self._processes.values())

    def add(self, process: ProcessFrame, report: ReportReader | None = None) -> ProcessFrame:
        """Record a process in memory and on disk; if the disk is full, the record is written later. Ranks must not fail because of a record.
        `report` says after its end whether it has started."""
        self._processes[process.name] = process
        if report is not None:
            self._reports[process.name] = report
        self._unsaved.add(process.name)
        self.save_rest()
        return process

    def save_rest(self) -> None:
        """Write records that are not on disk yet; what does not fit is retried on the next call."""
        for name in list(self._unsaved):
            with suppress(OSError):
                self._save(self._processes[name])
                self._unsaved.discard(name)

    def reap(self) -> list[ProcessFrame]:
        """Reap all ended processes and handle their leftovers; unknown orphans are only reaped."""
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self._sandboxes.on_exit(pid)
            code = os.waitstatus_to_exitcode(status)
            ended += [
                self.add(self._end_of(process, code))
                for process in self
                if process.pid == pid and process.exit_code is None
            ]
        return self._kill_leftovers(ended) if ended else []

    def kill(self, run: str, number: int, name: str = "") -> None:
        """Send a signal to the processes of a run, or to the named one; 9 also kills their sessions."""
        for process in self:
            if process.run != run or process.exit_code is not None or (name and process.name != name):
                continue
            if number == signal.SIGKILL:
                kill_session(process.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with suppress(ProcessLookupError):  # a new fork may not lead its group yet
                os.kill(process.pid, number)

    def forget(self, run: str) -> None:
        """Forget the ended processes of a run."""
        for process in self:
            if process.run == run and process.exit_code is not None:
                del self._processes[process.name]
                self._unsaved.discard(process.name)
                for path in (self._path(process.name), self._path(process.name).with_suffix(".new")):
                    path.unlink(missing_ok=True)

    def _end_of(self, process: ProcessFrame, code: int) -> ProcessFrame:
        report = self._reports.pop(process.name, None)
        error, trial_error = report.read() if report else ("", "")
        return replace(process, exit_code=code, error=error or process.error, trial_error=trial_error)

    def _kill_leftovers(self, ended: list[ProcessFrame]) -> list[ProcessFrame]:
        """Kill the leftovers of ended sessions, and orphans outside them; return the ended processes, the last of each run with its leftovers.

        An orphan outside its session is killed with the run that it is attributed to. If it cannot be attributed, it is killed when the
        last run ends that was alive when the orphan was first seen.
        """
        me, sessions = os.getpid(), {process.pid: process.run for process in ended}
        inits = self._sandboxes.inits
        seen = self._strays.keys()
        living = {process.name for process in self if process.exit_code is None}
        known = {process.pid for process in self if process.exit_code is None}
        processes = list(running_processes())
        left_behind = {pid: sessions[session] for pid, _, session in processes if session in sessions}
        strays = {
            pid for pid, parent, _ in processes if parent == me and pid not in known and pid not in inits
        }
        over = set(sessions.values()) - {one.run for one in self if one.exit_code is None and not one.port}
        named = {pid: run for pid in strays - left_behind.keys() if (run := run_of(pid, over))}
        named |= {
            pid: inits[parent]
            for pid, parent, _ in processes
            if inits.get(parent) in over and pid not in left_behind
        }
        self._strays = {pid: self._strays.get(pid, frozenset(living)) & living for pid in strays}
        unnamed = [pid for pid, owners in self._strays.items() if not owners]
        alone = dict.fromkeys(set(unnamed) - seen, ended[0].run) if len(set(sessions.values())) == 1 else {}
        leftovers = _describe_leftovers(alone | named | left_behind, ended)
        for pid in (*left_behind, *named, *unnamed):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for session in sessions if left_behind else ():
            kill_session(session)
        return [
            self.add(replace(one, left=leftovers[one.name])) if one.name in leftovers else one
            for one in ended
        ]

    def _save(self, process: ProcessFrame) -> None:
        target = self._path(process.name)
        temporary = target.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(process)))
        temporary.replace(target)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name.replace('/', '_')}.json"


def _describe_leftovers(left: Mapping[int, str], ended: list[ProcessFrame]) -> dict[str, str]:
    """Return descriptions of the leftover processes, by the name of the run's process that ended last."""
    last = {process.run: process.name for process in ended}
    found: dict[str, list[str]] = {}
    for pid, run in left.items():
        if not is_helper(pid):
            found.setdefault(last[run], []).append(name_of(pid))
    return {name: process_list_text(names) for name, names in found.items()}


def running_processes() -> Iterator[tuple[int, int, int]]:
    """Yield (pid, parent, session) of every process visible in /proc."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            stat = Path(entry.path, "stat").read_text(
                errors="replace"
            )  # a name may be cut within a character
            fields = stat[stat.rindex(")") + 2 :].split()
            if fields[0] != "Z":
                yield int(entry.name), int(fields[1]), int(fields[3])


def kill_session(session: int) -> None:
    """Kill every process of a session; repeated to catch forks made meanwhile."""
    for _ in range(5):
        members = [pid for pid, _, theirs in running_processes() if theirs == session]
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not members:
            return
