"""The warm parents of this machine: the default one, and one per Python environment of a run."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from muster import wire
from worker.executors.interface import ExecutorEvents, Order
from worker.executors.process import ProcessExecutor
from worker.paths import WorkerPaths

IDLE_S = 300.0
LOOK_EVERY_S = 10.0
PLAIN = ""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WarmParentConfig:
    """How to start warm parents: directories, warm modules and environment variables."""

    paths: WorkerPaths
    warm: str
    environment: dict[str, str]


class WarmParents:
    """Executes orders through one warm parent per environment, and routes each order to the parent of its run. Calls `on_ready` with the environment of each parent that is ready."""

    def __init__(
        self,
        start: WarmParentConfig,
        on_process: Callable[[wire.ProcessFrame], None],
        on_ready: Callable[[str], None],
    ) -> None:
        self._start = start
        self._on_process = on_process
        self._on_ready = on_ready
        self._links = {PLAIN: self._link(PLAIN, sys.executable)}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._at: dict[str, str] = {}
        self._used_at: dict[str, float] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the default parent can start ranks now."""
        return self._links[PLAIN].is_ready

    @property
    def trouble(self) -> str | None:
        """Why this machine cannot start processes; a broken environment of a trial does not count."""
        return self._links[PLAIN].trouble

    def use(self, run: str, environment: str, interpreter: str) -> None:
        """Assign a run to an environment, and start the environment's parent if there is none."""
        self._at[run] = environment
        if environment not in self._links:
            self._start.paths.parent_of(environment).mkdir(mode=0o700, exist_ok=True)
            self._links[environment] = self._link(environment, interpreter)
            _log.info("starting a warm parent for an environment", environment=environment)
            if PLAIN in self._tasks:
                self._run(environment)

    def send(self, order: Order) -> None:
        """Send an order; the sequence is kept within a run."""
        environment = self._at.get(order.run, PLAIN)
        if isinstance(order, wire.Forget):
            self._at.pop(order.run, None)
        self._links.get(environment, self._links[PLAIN]).send(order)

    async def run(self) -> None:
        """Keep all parents connected, and end those that no run has used for a while."""
        for environment in self._links:
            self._run(environment)
        while not self._tasks[PLAIN].done():
            await asyncio.wait([self._tasks[PLAIN]], timeout=LOOK_EVERY_S)
            await self._end_idle()
        self._tasks[PLAIN].result()

    def begin_end(self) -> None:
        """Stop starting parents."""
        for link in self._links.values():
            link.begin_end()

    async def quit(self) -> None:
        """End all parents and their processes."""
        await asyncio.gather(*(link.quit() for link in self._links.values()))

    def _link(self, environment: str, interpreter: str) -> ProcessExecutor:
        start = self._start
        events = ExecutorEvents(
            partial(self._record_process, environment), partial(self._on_ready, environment)
        )
        directory = start.paths.parent_of(environment)
        return ProcessExecutor(directory, start.warm, start.environment, events, interpreter)

    def _record_process(self, environment: str, process: wire.ProcessFrame) -> None:
        if environment:
            self._at.setdefault(process.run, environment)
        self._on_process(process)

    def _run(self, environment: str) -> None:
        name = f"parent {environment or 'plain'}"
        self._tasks[environment] = asyncio.create_task(self._links[environment].run(), name=name)

    async def _end_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for environment in set(self._at.values()):
            self._used_at[environment] = now
        for environment in self._links.keys() - {PLAIN}:
            if now - self._used_at.setdefault(environment, now) > IDLE_S:
                link = self._links.pop(environment)
                self._used_at.pop(environment)
                await link.quit()
                await self._tasks.pop(environment)
                _log.info("ended an idle warm parent: no run uses its environment", environment=environment)
