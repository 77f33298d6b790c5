"""Skeleton of a process: settings, logs, traces, side port, a task group, and an orderly shutdown.

`__main__.py` of a service calls `run`; its `service.py` builds the components on the given `ServiceProcess`. At SIGTERM, tasks end in the reverse order
of their start. Each is stopped by its `stop`: it accepts no more work and finishes its current work. Then entered contexts close in reverse
order. So start the relay before the consumers, whose handlers feed it.

Processes may start in any order: each waits for its servers with `reach`, after its imports.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import structlog
import uvloop

from shared import telemetry
from shared.clock import SystemClock
from shared.errors import MusterError, Rejected, Transient
from shared.messages.health import PROCESS, CheckResult, HealthReport
from shared.runtime.cancelling import wait_until_ended
from shared.runtime.health import HealthChecks, Probe
from shared.runtime.side_port import side_port
from shared.settings import ServiceSettings, load
from shared.telemetry import logs

Settings = TypeVar("Settings", bound=ServiceSettings)
Value = TypeVar("Value")
Compose = Callable[[Settings, "ServiceProcess"], Coroutine[object, object, None]]
Main = Callable[[], Coroutine[object, object, None]]
UntilStopped = Callable[[asyncio.Event], Coroutine[object, object, None]]
Stop = Callable[[], Awaitable[None]]

EXIT_FAILED = 1
EXIT_BAD_SETTINGS = 2
GRACE_S = 8.0
"""How long one task may take to stop; then it is cancelled. Nothing is lost: inbox and outbox are durable."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 0.5
"""Pause between attempts to reach a server that has not started yet."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Started:
    name: str
    task: asyncio.Task[None]
    stop: Stop | None


class ServiceProcess:
    """Base on which a service composes its components."""

    def __init__(self, name: str, group: asyncio.TaskGroup, stack: AsyncExitStack) -> None:
        self.name = name
        self._group = group
        self._stack = stack
        self._started: list[_Started] = []
        self._clock = SystemClock()
        self.health = HealthChecks(name, self._clock)
        self._composed = False
        self._since = self._clock.now()
        self._ending = asyncio.Event()

    @property
    def ending(self) -> bool:
        """Whether the process was asked to end."""
        return self._ending.is_set()

    async def enter(self, part: AbstractAsyncContextManager[Value]) -> Value:
        """Enter a context; it closes after all tasks have ended, in reverse order of entering."""
        return await self._stack.enter_async_context(part)

    async def reach(self, server: str, attempt: Callable[[], Awaitable[Value]]) -> Value:
        """Return the result of `attempt`, retried while it raises Transient: a server may start later than its clients."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await attempt()
            except Transient as error:
                if pause_s == FIRST_PAUSE_S:
                    _log.info("waiting for a server", server=server, why=str(error))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)

    def on_close(self, action: Stop) -> None:
        """Await `action` where a context entered here would close."""
        self._stack.push_async_callback(action)

    def start(self, name: str, main: Main, stop: Stop | None = None) -> None:
        """Start a top-level task; if it crashes, the process ends.

        Args:
            name: For logs.
            main: Runs until it is stopped; it may also end by itself.
            stop: Awaited at shutdown, so that `main` finishes its current work and returns. A task without it is cancelled.
        """
        task = self._group.create_task(main(), name=name)
        self._started.append(_Started(name, task, stop))

    def start_until_stopped(self, name: str, main: UntilStopped) -> None:
        """Start a task that finishes its current work and returns once the event passed to it is set."""
        stopping = asyncio.Event()

        async def stop() -> None:
            stopping.set()

        self.start(name, lambda: main(stopping), stop)

    def check(self, name: str, probe: Probe) -> None:
        """Make `/ready` depend on `probe`, which runs every few seconds from now on (`shared.runtime.health`)."""
        self.health.add_check(name)
        self.start(f"check {name}", lambda: self.health.keep(name, probe))

    def mark_ready(self) -> None:
        """Mark the composition as complete; `/ready` returns 200 from now on while its checks pass."""
        self._composed = True
        self._since = self._clock.now()
        _log.info("the process became ready")

    def readiness(self) -> HealthReport:
        """Return what `/ready` reports: the state of the process and of its dependencies."""
        reason = "the process is starting" if not self._composed else None
        if self.ending:
            reason = "the process is ending"
        itself = CheckResult(name=PROCESS, ok=reason is None, reason=reason, since=self._since)
        report = self.health.report()
        return HealthReport(checks=(itself, *report.checks), warnings=report.warnings)

    def end(self) -> None:
        """Request an orderly shutdown, as SIGTERM does."""
        self._since = self._clock.now()
        self._ending.set()

    async def _end_in_order(self, composing: asyncio.Task[None]) -> None:
        try:
            await self._ending.wait()
        except asyncio.CancelledError:
            # A task crashed, and the group cancels the others once: one that lost its cancellation would keep the process alive.
            await wait_until_ended([composing, *(started.task for started in self._started)])
            raise
        _log.info("the process is ending")
        composing.cancel()
        for started in reversed(self._started):
            await _finish(started)


def run(name: str, settings_type: type[Settings], compose: Compose[Settings]) -> NoReturn:
    """Run a process until SIGTERM or SIGINT (exit 0), a crash of one of its tasks (1), or invalid settings (2)."""
    parser = argparse.ArgumentParser(
        prog=name, description=f"Run Muster's {name} service. Settings come from environment variables."
    )
    parser.add_argument(
        "--print-settings", action="store_true", help="print the settings with secrets masked, and exit"
    )
    arguments = parser.parse_args()
    try:
        settings = load(settings_type)
    except Rejected as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_SETTINGS)
    if arguments.print_settings:
        print(settings.masked())
        sys.exit(0)
    logs.configure(name, settings.log)
    telemetry.configure(name, settings.telemetry)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        is_orderly = runner.run(_main(name, settings, compose))
    telemetry.shutdown()
    sys.exit(0 if is_orderly else EXIT_FAILED)


async def _main(name: str, settings: Settings, compose: Compose[Settings]) -> bool:
    """Run to the end, and return whether the shutdown was orderly."""
    try:
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            process = ServiceProcess(name, group, stack)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, process.end)
            port = await process.enter(side_port(settings.side, process.readiness))
            _log.info("the process started", pid=os.getpid(), side_port=port)
            composing = group.create_task(compose(settings, process), name="compose")
            group.create_task(process._end_in_order(composing), name="end")
    except BaseExceptionGroup as group_error:
        for error in _leaves(group_error):
            _log_failure(error)
        return False
    except (OSError, MusterError) as error:
        _log_failure(error)
        return False
    _log.info("the process ended")
    return True


async def _finish(started: _Started) -> None:
    """Stop one task with its `stop`, or cancel it after the grace period."""
    if started.stop is not None and not started.task.done():
        try:
            async with asyncio.timeout(GRACE_S):
                await started.stop()
                await asyncio.wait({started.task})
        except TimeoutError:
            _log.warning("a task did not stop in time and was cancelled", task=started.name, grace_s=GRACE_S)
        except MusterError as error:
            _log.warning("a task could not finish its current work", task=started.name, error=str(error))
    started.task.cancel()
    await wait_until_ended({started.task})


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return leaves


def _log_failure(error: BaseException) -> None:
    if isinstance(error, MusterError | OSError):
        _log.error("the process failed", error=str(error))
    else:
        _log.error("the process crashed", exc_info=error)
