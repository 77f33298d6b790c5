"""Keeps one process running: restarts it when it ends, with exponential backoff."""

import subprocess
from dataclasses import dataclass, field
from typing import Literal

from deploy.embedded.host.processes import ProcessId
from deploy.embedded.servers.base import Daemon
from deploy.embedded.services import BAD_SETTINGS
from deploy.embedded.state import Part, PartState
from deploy.embedded.supervision.logfiles import note
from muster.errors import Broken

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0
STEADY_AFTER_S = 30.0
START_TIMEOUT_S = 60.0
LONGEST_START_TIMEOUT_S = 480.0
"""A start that exceeds the timeout is repeated with twice the timeout: on a loaded machine every attempt would otherwise fail."""
FIRST_STARTS = 3


@dataclass(slots=True)
class SupervisedProcess:
    """One supervised part of the platform.

    Attributes:
        daemon: the process.
        kind: server or service.
        restarts: number of restarts.
        restarted_for: the reason of the last restart.
        trouble: its current failure while it runs; empty: none.
    """

    daemon: Daemon
    kind: Literal["server", "service"]
    restarts: int = 0
    restarted_for: str = ""
    trouble: str = ""
    state: PartState = "waiting"
    _since: float = 0.0
    _start_at: float = 0.0
    _failures: int = field(default=0)
    _ran_once: bool = False
    _start_timeout_s: float = START_TIMEOUT_S
    _stop_reason: str = ""

    @property
    def name(self) -> str:
        return self.daemon.name

    @property
    def process(self) -> "subprocess.Popen[bytes] | None":
        return self.daemon.process

    def tick(self, now: float) -> bool:
        """Run due actions; return whether something changed.

        Raises:
            Broken: its first start failed.
        """
        before = (self.state, self.restarts, self.trouble)
        match self.state:
            case "waiting":
                self._start(now)
            case "starting":
                self._watch_start(now)
            case "running":
                self._watch_run(now)
            case "restarting":
                if now >= self._start_at:
                    self._start_again(now)
            case _:
                pass
        return before != (self.state, self.restarts, self.trouble)

    def stop(self) -> None:
        """Stop the process, and do not restart it."""
        self.daemon.stop()
        self.state = "stopped"

    def part(self) -> Part:
        """Return its entry for the state file."""
        process = self.process
        identity = ProcessId.of(process.pid) if process is not None and process.poll() is None else None
        return Part(
            self.name,
            self.kind,
            self.state,
            identity,
            self.daemon.ports,
            self.restarts,
            self.restarted_for,
            self.trouble,
        )

    def _start(self, now: float) -> None:
        self.daemon.prepare()
        self.daemon.start()
        self._since = now
        self.state = "starting"

    def _start_again(self, now: float) -> None:
        self.restarts += 1
        try:
            self._start(now)
        except OSError:
            # On a full disk or process limit, the other parts continue and so do the attempts.
            if not self._ran_once:
                raise
            self._failures += 1
            self._pause(now)

    def _watch_start(self, now: float) -> None:
        process = self.process
        assert process is not None
        if process.poll() is not None:
            self._on_end(now, process.returncode)
        elif self.daemon.ready():
            self.state, self._since, self._ran_once = "running", now, True
            self._start_timeout_s = START_TIMEOUT_S
        elif now - self._since > self._start_timeout_s:
            self._stop_reason = f"it did not become ready within {self._start_timeout_s:g} s"
            self._start_timeout_s = min(2 * self._start_timeout_s, LONGEST_START_TIMEOUT_S)
            process.kill()

    def _watch_run(self, now: float) -> None:
        process = self.process
        assert process is not None
        if process.poll() is not None:
            self._on_end(now, process.returncode)
            return
        self._watch_health(now)
        if self._failures and now - self._since > STEADY_AFTER_S:
            self._failures = 0

    def _watch_health(self, now: float) -> None:
        health = self.daemon.check(now)
        if health.trouble != self.trouble:
            note(f"{self.name}: {health.trouble or 'it works again'}")
        self.trouble = health.trouble
        if health.is_stuck:
            self._stop_reason = health.trouble
            self.daemon.stop()

    def _on_end(self, now: float, code: int) -> None:
        self.daemon.clean()
        self._failures += 1
        why = self._stop_reason or f"it ended with exit code {code}"
        self.restarted_for, self._stop_reason, self.trouble = why, "", ""
        if not self._ran_once and (code == BAD_SETTINGS or self._failures >= FIRST_STARTS):
            raise Broken(
                f"{self.name} did not start: {why}; the end of {self.daemon.log}:\n{self.daemon.log_tail()}"
            )
        note(f"{self.name} restarts: {why}")
        self._pause(now)

    def _pause(self, now: float) -> None:
        pause_s = FIRST_PAUSE_S * 2 ** (self._failures - 1) if self._failures > 1 else 0.0
        self._start_at = now + min(pause_s, LONGEST_PAUSE_S)
        self.state = "restarting"
