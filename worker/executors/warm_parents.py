"""The warm parents of this machine: the default one, one per Python environment, and those of runs in a sandbox with a parent of its own."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from muster import wire
from worker.core.process_names import own_parent
from worker.executors.interface import ExecutorEvents, Order
from worker.executors.parents import MachineParent, ParentHandle, SandboxedParent
from worker.executors.process import ProcessExecutor
from worker.executors.run_sandbox import RunSandbox
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
    """Routes each order to the warm parent of its run. Calls `on_ready` with the name of each parent that is ready: an environment's, or a run's own."""

    def __init__(
        self,
        start: WarmParentConfig,
        on_process: Callable[[wire.ProcessFrame], None],
        on_ready: Callable[[str], None],
    ) -> None:
        self._start = start
        self._on_process = on_process
        self._on_ready = on_ready
        self._links = {PLAIN: self._link(PLAIN, self._parent_of(PLAIN, sys.executable))}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._at: dict[str, str] = {}
        self._used_at: dict[str, float] = {}
        self._endings: set[asyncio.Task[None]] = set()

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
            self._links[environment] = self._link(environment, self._parent_of(environment, interpreter))
            _log.info("starting a warm parent for an environment", environment=environment)
            if PLAIN in self._tasks:
                self._run(environment)

    def use_own(self, run: str, sandbox: RunSandbox) -> None:
        """Assign a run to a warm parent of its own, which starts now inside the run's sandbox and ends with `Forget`."""
        name = own_parent(run)
        self._at[run] = name
        if name not in self._links:
            self._links[name] = self._link(name, SandboxedParent(run, sandbox, self._start.warm))
            if PLAIN in self._tasks:
                self._run(name)

    def send(self, order: Order) -> None:
        """Send an order; the sequence is kept within a run."""
        name = self._at.get(order.run, PLAIN)
        if isinstance(order, wire.Forget):
            self._at.pop(order.run, None)
        self._links.get(name, self._links[PLAIN]).send(order)
        if isinstance(order, wire.Forget) and name == own_parent(order.run) and name in self._links:
            ending = asyncio.create_task(self._end(name), name=f"end {name}")
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

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
        await asyncio.gather(*(link.quit() for link in self._links.values()), *self._endings)

    def _parent_of(self, environment: str, interpreter: str) -> MachineParent:
        start = self._start
        return MachineParent(start.paths.parent_of(environment), start.warm, start.environment, interpreter)

    def _link(self, name: str, parent: ParentHandle) -> ProcessExecutor:
        events = ExecutorEvents(partial(self._record_process, name), partial(self._on_ready, name))
        return ProcessExecutor(parent, events)

    def _record_process(self, name: str, process: wire.ProcessFrame) -> None:
        if name:
            self._at.setdefault(process.run, name)
        self._on_process(process)

    def _run(self, name: str) -> None:
        self._tasks[name] = asyncio.create_task(self._links[name].run(), name=f"parent {name or 'plain'}")

    async def _end_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for environment in set(self._at.values()):
            self._used_at[environment] = now
        for environment in self._links.keys() - {PLAIN}:
            if now - self._used_at.setdefault(environment, now) > IDLE_S:
                await self._end(environment)
                _log.info("ended an idle warm parent: no run uses its environment", environment=environment)

    async def _end(self, name: str) -> None:
        """End a parent that no run uses, with its sandbox."""
        link = self._links.pop(name)
        self._used_at.pop(name, None)
        await link.quit()
        if name in self._tasks:
            await self._tasks.pop(name)
