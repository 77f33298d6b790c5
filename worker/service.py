"""Composes a worker: first the runs, which need no platform, then the connection to the platform."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from muster.errors import MusterError, Rejected
from shared.bus import Bus
from shared.clock import SystemClock
from shared.ids import WorkerId, new_id
from shared.messages.allocations import DesiredSet, Slot
from shared.messages.experiments import TrialVerdict
from shared.messages.runs import WORKER_STOPPED
from shared.messages.trial_specs import SlotKind
from shared.runtime.process import ServiceProcess
from worker.connection.heartbeat import Heartbeat
from worker.connection.identity import join, load_identity
from worker.connection.platform_connection import PlatformConnection
from worker.connection.signed_sets import SignedSets
from worker.environments.environments import Environments, installing_environment
from worker.environments.images import Images
from worker.environments.installation_limits import InstallationLimits
from worker.environments.pulled_images import PulledImages
from worker.executors.container import find_engine, require_engine
from worker.executors.interface import Executor
from worker.executors.local_processes import LocalProcesses
from worker.executors.process import parent_environment
from worker.executors.warm_parents import WarmParentConfig, WarmParents
from worker.handlers import Handlers
from worker.machine.cgroups import Bounds, open_cgroups
from worker.machine.gpu_utilization import open_gpus
from worker.machine.host import Machine
from worker.machine.isolation import describe_network, offered_isolation, save_isolation
from worker.machine.reclaim_notices import NoticeWatch, notices_of
from worker.machine.slots import find_slots
from worker.paths import WorkerPaths
from worker.ranks.server import RankServer
from worker.runs.containers import Containers
from worker.runs.context import Tools
from worker.runs.run_table import Runs
from worker.sandbox.accounts import Account, find_account
from worker.sandbox.network.opening import find_networks
from worker.sandbox.network.run_networks import RunNetworks
from worker.sandbox.sandboxing import find_sandboxing, with_default_limits
from worker.settings import Settings, WorkerSection, inherited_environment
from worker.store.store import Store
from worker.transfer.cache import FileCache
from worker.transfer.cache_space import CacheSpace
from worker.transfer.checkpoints.restore import Restorer
from worker.transfer.code import CodeCache
from worker.transfer.http import Transfer, new_session

_LIBRARIES = ("LD_LIBRARY_PATH", "CUDA_HOME")


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Adopt the runs of an earlier daemon, then connect and serve."""
    clock, own = SystemClock(), settings.worker
    sandboxing = find_sandboxing(own)
    account = None if sandboxing else find_account(own.user)
    is_isolated = sandboxing is not None or account is not None
    paths = _open_directory(own, is_isolated and os.geteuid() == 0, process)
    environment = inherited_environment()
    identity = load_identity(paths.identity)
    engine = find_engine(own.container_engine, environment, paths.root / "seccomp.json")
    try:
        slots = find_slots(own, environment)
        if own.sandbox == "container":
            await asyncio.to_thread(require_engine, engine)
    except Rejected as error:
        with suppress(MusterError):
            await join(identity, own, clock, trouble=error.message)
        raise
    platform = PlatformConnection(settings, identity, clock)
    process.on_close(platform.close)

    session = await process.enter(new_session())
    transfer = Transfer(session)
    if sandboxing is not None:
        own = with_default_limits(own, len(slots))
    found = await _open_networks(own, sandboxing is not None, process)
    networks, why_none = (found, None) if isinstance(found, RunNetworks) else (None, found)
    offered = offered_isolation(own, describe_network(why_none))
    save_isolation(paths.isolation, own, offered)
    if sandboxing is not None:
        sandboxing = replace(sandboxing, networks=networks)
    machine = _machine(own, paths, slots, environment, account)
    machine = replace(machine, sandboxing=sandboxing, networks=networks)
    installing = installing_environment(environment)
    limits = InstallationLimits(machine.cgroups, own.run_bytes)
    installed = Environments(paths.environments, account, sandboxing, installing, own.warm_modules, limits)
    bounds = Bounds(own.slot_memory_bytes, own.slot_processes)
    space = await asyncio.to_thread(CacheSpace, paths.cache, own.cache_bytes)
    tools = Tools(
        platform=platform,
        worker=WorkerId(own.id),
        clock=clock,
        paths=paths,
        machine=machine,
        transfer=transfer,
        code=CodeCache(paths.code_cache, space, platform, transfer),
        checkpoints=Restorer(FileCache(paths.checkpoint_cache, space), platform, transfer),
        environments=installed,
        images=Images(engine, PulledImages(paths.images), own.images_bytes),
        containers=Containers(engine, settings.containers, bounds, paths),
        min_free_bytes=own.min_free_bytes,
        processes=LocalProcesses(),
        gpus=open_gpus(machine.kind),
    )
    signed_sets = SignedSets(WorkerId(own.id), lambda: identity.issuer_key, platform.renew_soon)
    heartbeat = Heartbeat(
        platform, own, slots, new_id(clock), clock, signed_sets, offered, is_isolated=is_isolated
    )
    runs = Runs(tools, Store(paths), heartbeat.wake)
    tools.images.in_use = lambda: runs.images
    notices = NoticeWatch(notices_of(own, session), clock, _all(runs.warn, lambda _: heartbeat.wake()))
    heartbeat.leaving = notices.leaving
    heartbeat.has_private_networks = networks is not None
    heartbeat.on_abandoned = process.end
    start = WarmParentConfig(paths, own.warm_modules, parent_environment(environment))
    executor = WarmParents(start, runs.on_process, runs.on_parent_ready)
    runs.attach(executor)
    if paths.has_older_runs:
        _open_shared_socket(paths, runs, account, process)
    runs.adopt()
    process.on_close(runs.close)

    handlers = Handlers(runs, signed_sets, lambda: heartbeat.observe(runs), heartbeat.on_contact)
    ending = _Ending(runs, executor, heartbeat)
    process.start("executor", executor.run, stop=ending.end)
    process.start(
        "line", lambda: platform.run(lambda bus: _listen(bus, WorkerId(own.id), handlers, heartbeat))
    )
    process.start("heartbeat", lambda: heartbeat.run(runs))
    process.start("notices", notices.run)
    _check_health(process, executor, platform)
    process.mark_ready()


def _check_health(process: ServiceProcess, executor: WarmParents, platform: PlatformConnection) -> None:
    """Register the checks of `/ready`. A worker has no stream and no database."""

    async def starts_ranks() -> str | None:
        return None if executor.is_ready else "the warm parent, which starts ranks, is not ready"

    async def connected() -> str | None:
        return None if platform.is_connected else "not connected to the platform"

    process.check("executor", starts_ranks)
    process.check("line", connected)


def _open_directory(own: WorkerSection, is_shared: bool, process: ServiceProcess) -> WorkerPaths:
    """Create and lock the data directory until the daemon ends: a second daemon on it fails here."""
    paths = WorkerPaths(own.directory.absolute())
    paths.make(is_shared)
    lock = paths.lock()
    process.on_close(_soon(lambda: os.close(lock)))
    return paths


def _open_shared_socket(
    paths: WorkerPaths, runs: Runs, account: Account | None, process: ServiceProcess
) -> None:
    """Accept connections of ranks that a daemon of version 0.2.0 started: they know one socket for all runs."""
    ranks = RankServer(paths.socket, runs.find_session, account.user if account else None)
    ranks.open()
    process.on_close(_soon(ranks.close))


async def _open_networks(
    own: WorkerSection, has_sandboxes: bool, process: ServiceProcess
) -> RunNetworks | str:
    """Open the private networks of runs until the daemon ends, or return why runs use the machine's network. Raises Rejected."""
    found = await asyncio.to_thread(find_networks, own, has_sandboxes=has_sandboxes)
    if isinstance(found, RunNetworks):
        process.on_close(lambda: asyncio.to_thread(found.close))
        process.start("networks", found.run)
    return found


def _machine(
    own: WorkerSection,
    paths: WorkerPaths,
    slots: Sequence[Slot],
    environment: Mapping[str, str],
    account: Account | None,
) -> Machine:
    kind = slots[0].kind if slots else "cpu"
    return Machine(
        worker=WorkerId(own.id),
        disk=paths.root,
        address=own.address,
        socket=paths.socket,
        path=os.pathsep.join((str(Path(sys.executable).parent), environment.get("PATH", os.defpath))),
        kind=kind,
        account=account,
        run_bytes=own.run_bytes,
        cgroups=open_cgroups(WorkerId(own.id), Bounds(own.slot_memory_bytes, own.slot_processes)),
        niceness=own.niceness,
        cores=_cores_of_runs(kind, own.niceness),
        libraries={name: environment[name] for name in _LIBRARIES if name in environment},
    )


def _cores_of_runs(kind: SlotKind, niceness: int) -> tuple[int, ...]:
    """Return the cores for pinning, if slots are cores and nothing else computes on them: a pinned thread cannot move away from a busy core (decision 0214)."""
    return tuple(sorted(os.sched_getaffinity(0))) if kind == "cpu" and not niceness else ()


@dataclass(frozen=True, slots=True)
class _Ending:
    """Handles SIGTERM: ends the ranks and warm parents with the worker. A crash leaves them to the next daemon."""

    runs: Runs
    executor: Executor
    heartbeat: Heartbeat

    async def end(self) -> None:
        self.executor.begin_end()
        with suppress(TimeoutError):
            await self.runs.end(WORKER_STOPPED)
        await self.heartbeat.beat(self.runs)
        await self.executor.quit()


async def _listen(bus: Bus, worker: WorkerId, handlers: Handlers, heartbeat: Heartbeat) -> None:
    await bus.subscribe(DesiredSet.subject(worker), handlers.on_desired)
    await bus.subscribe(TrialVerdict.subject(worker), handlers.on_verdict)
    bus.on_reconnect.append(heartbeat.wake)
    heartbeat.wake()


def _all(*listeners: Callable[[str], None]) -> Callable[[str], None]:
    def notify(text: str) -> None:
        for one in listeners:
            one(text)

    return notify


def _soon(action: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        action()

    return close
