"""All components of one run on this machine: record, journals, sources, session, log reader and uploads. Neighbour: `run_factory` creates them."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from muster import wire
from shared.clock import Clock
from shared.ids import WorkerId
from worker.connection.platform_connection import PlatformConnection
from worker.core.run.records import LocalRun
from worker.environments.environments import Environments
from worker.environments.images import Images
from worker.executors.interface import Processes
from worker.journal.journal import Journal
from worker.journal.journal_sender import Source
from worker.journal.logs import LogTail
from worker.journal.run_senders import trace_of
from worker.machine.gpu_utilization import Gpus
from worker.machine.host import Machine
from worker.paths import RunPaths, WorkerPaths
from worker.ranks.server import RankServer
from worker.ranks.session import RankSession
from worker.runs.containers import Containers
from worker.runs.preparing.hooks import Hook
from worker.runs.secrets import RunSecrets
from worker.runs.watching.hangs import HangWatch
from worker.runs.watching.phases import Phases
from worker.runs.watching.profiling import Profile, ProfiledRun
from worker.sandbox.accounts import Account
from worker.store.records import StoredRun
from worker.transfer.checkpoints.restore import Restorer
from worker.transfer.checkpoints.uploads import Uploads
from worker.transfer.code import CodeCache
from worker.transfer.http import Transfer
from worker.transfer.media.sending import MediaSender


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies shared by all runs of the worker."""

    platform: PlatformConnection
    worker: WorkerId
    clock: Clock
    paths: WorkerPaths
    machine: Machine
    transfer: Transfer
    code: CodeCache
    checkpoints: Restorer
    environments: Environments
    images: Images
    containers: Containers
    min_free_bytes: int
    processes: Processes
    gpus: Gpus


@dataclass(slots=True, eq=False)
class RunContext:
    """The components of one run. Only the supervisor replaces `run`; `started` maps each process name that the warm parent reported to its pid."""

    stored: StoredRun
    paths: RunPaths
    tools: Tools
    secrets: RunSecrets
    session: RankSession
    reports: Journal
    logs: Journal
    report_source: Source
    log_source: Source
    tail: LogTail
    uploads: Uploads
    media: MediaSender
    watch: HangWatch
    profile: Profile | None
    phases: Phases
    account: Account | None
    server: RankServer
    started: dict[str, int] = field(default_factory=dict)
    hook: Hook = field(default_factory=Hook)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def trace(self) -> dict[str, str]:
        """The trace headers of the run."""
        return trace_of(self.stored)

    @property
    def machine(self) -> Machine:
        """The machine as the run sees it: with the paths of its Python environment first, its own user, and its sandbox or container."""
        machine, name = self.tools.machine, self.stored.environment
        seen = replace(machine, account=self.account, socket=self.paths.socket)
        if self.stored.image is not None:
            return self.tools.containers.machine(seen, self.stored.image)
        seen = replace(seen, sandbox=self._sandbox)
        return self.tools.environments.over(seen, name) if name else seen

    @property
    def _sandbox(self) -> wire.SandboxSpec | None:
        sandboxing, name = self.tools.machine.sandboxing, self.stored.environment
        if sandboxing is None or self.account is None:
            return None
        environment = self.tools.environments.folder(name) if name else None
        gpus = None if self.tools.machine.kind == "cpu" else self._own_slots
        return sandboxing.describe(self.run.run_id, self.paths, self.account, environment, gpus)

    @property
    def run(self) -> LocalRun:
        """The run's state."""
        return self.stored.run

    @property
    def is_drained(self) -> bool:
        """Whether the registry has all data of the run."""
        sources = (self.report_source, self.log_source, *([self.profile.source] if self.profile else ()))
        parts = (*sources, self.uploads, self.media, self.phases.sender)
        return self.tail.is_done and all(one.is_drained for one in parts)

    @property
    def profiled_run(self) -> ProfiledRun:
        """The properties of the run that a profile needs."""
        return ProfiledRun(
            self.started.values(),
            self.session.step,
            self.run.local_ranks,
            self.run.gang.assignment.index,
            self._own_slots,
        )

    @property
    def _own_slots(self) -> tuple[int, ...]:
        mine = (one for one in self.stored.allocation.members if one.worker == self.tools.worker)
        return next((one.slot_ids for one in mine), ())

    def start(self, main: Coroutine[Any, Any, None], name: str) -> None:
        """Run a task until the context is closed."""
        task = asyncio.get_running_loop().create_task(main, name=f"{name} {self.run.run_id}")
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def close(self) -> None:
        """Cancel the tasks and close the files."""
        for task in list(self.tasks):
            task.cancel()
        self.server.close()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self.tasks, return_exceptions=True)
        self.reports.close()
        self.logs.close()
        if self.profile:
            self.profile.close()
