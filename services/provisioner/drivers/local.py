"""Workers as processes of this machine, each in its own session and directory; they outlive the provisioner.

A worker's directory stands for its machine: while the directory exists, a daemon that died is restarted in it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.drivers import processes
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.processes import WorkerProgram
from shared.errors import Transient
from shared.ids import WorkerId

LAUNCH_LOCK = "launch.lock"
PARENT_LOCK = Path("parent") / "parent.lock"
LOG = "worker.log"
LARGEST_LOG_BYTES = 8 * 1024 * 1024
_PARENT_MODULE = "muster.runtime"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LocalSite:
    """How workers are started on this machine. `environment` is that of every worker. `devices` are GPU ids in the order of `pool_index`."""

    directory: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    gateway_url: str
    address: str = "127.0.0.1"
    devices: Sequence[str] = ()
    stop_timeout_s: float = 20.0


class LocalDriver:
    """The driver `local`."""

    name = "local"
    most_per_intent = 1000
    lateness = timedelta(0)
    terminates_orphans = False
    identity = None

    def __init__(self, site: LocalSite) -> None:
        self._site = site
        self._notify: Callable[[], None] = _nobody
        self._children: dict[WorkerId, subprocess.Popen[bytes]] = {}
        self._watched: dict[WorkerId, int] = {}
        # Checking a lock takes it for a moment; a start in that moment would mistake the check for a running worker.
        self._locks = threading.Lock()

    def watch(self, notify: Callable[[], None]) -> None:
        """Call `notify` when a worker that was seen running ends."""
        self._notify = notify

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        placed: dict[WorkerId, str] = {}
        for one in intent.instances:
            if one.worker not in tokens:
                continue
            try:
                await self.start_again(one, tokens[one.worker])
            except Transient as error:
                return Launched(placed, LaunchRefusal("unknown", error.message))
            placed[one.worker] = str(self._site.directory / one.worker)
        return Launched(placed)

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Start the worker, in a new directory if its own was removed. See `Driver.start_again`."""
        try:
            await asyncio.to_thread(self._start, instance, token)
        except OSError as error:
            raise Transient(f"worker {instance.worker} was not started: {error}") from error
        self._listen_to(instance.worker)

    async def kick(self, worker: WorkerId) -> None:
        handle = self._open(worker)
        if handle is not None:
            processes.send(handle, signal.SIGKILL)
            os.close(handle)
            _log.warning("a worker that hung was killed", worker=worker)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        try:
            found = await asyncio.to_thread(self._look)
        except OSError as error:
            raise Transient(f"{self._site.directory} cannot be read: {error}") from error
        for worker, presence in found.items():
            if presence is Presence.RUNNING and worker not in self._watched:
                self._listen_to(worker)
        return {
            worker: Sighting(presence, str(self._site.directory / worker))
            for worker, presence in found.items()
        }

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        await asyncio.gather(*(self._terminate(worker) for worker in {one.worker for one in machines}))

    async def _terminate(self, worker: WorkerId) -> None:
        folder = self._site.directory / worker
        await self._end_worker(worker)
        mark = ("MUSTER_WORKER__DIRECTORY", str(folder))
        for pid in await asyncio.to_thread(processes.find_by_variable, *mark):
            await self._end(pid)
        parent = await asyncio.to_thread(_find_parent, folder)
        if parent is not None:
            await self._end(parent)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        self._reap(worker)
        if folder.exists():
            raise Transient(f"{folder} could not be removed")
        _log.info("a worker was ended", worker=worker)

    def _start(self, one: Instance, token: str | None) -> None:
        folder = self._site.directory / one.worker
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        program = WorkerProgram(
            self._site.command, self._environment(one, token, folder), folder, folder / LOG
        )
        with self._locks:
            child = processes.spawn_locked(folder / LAUNCH_LOCK, program)
        if child is not None:
            self._children[one.worker] = child
            _log.info("a worker was started", worker=one.worker, pid=child.pid)

    def _environment(self, one: Instance, token: str | None, folder: Path) -> dict[str, str]:
        environment = {
            **self._site.environment,
            "MUSTER_WORKER__ID": one.worker,
            "MUSTER_WORKER__DIRECTORY": str(folder),
            "MUSTER_WORKER__POOL": one.pool,
            "MUSTER_WORKER__SLOTS": str(one.slots),
            "MUSTER_WORKER__KIND": one.kind,
            "MUSTER_WORKER__ADDRESS": self._site.address,
            "MUSTER_WORKER__GATEWAY_URL": self._site.gateway_url,
        }
        if token is not None:
            environment["MUSTER_WORKER__JOIN_TOKEN"] = token
        first = one.pool_index * one.slots
        if devices := self._site.devices[first : first + one.slots]:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        return environment

    def _look(self) -> dict[WorkerId, Presence]:
        self._site.directory.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = {}
        for folder in sorted(self._site.directory.iterdir()):
            if not folder.is_dir():
                continue
            with self._locks:
                runs = processes.is_held(folder / LAUNCH_LOCK)
            found[WorkerId(folder.name)] = Presence.RUNNING if runs else Presence.STOPPED
            _bound(folder / LOG)
        return found

    def _listen_to(self, worker: WorkerId) -> None:
        """Get notified of the end of a running worker at once; the periodic loop would notice it later."""
        handle = self._open(worker)
        if handle is None:
            return
        if worker in self._watched:
            self._unwatch(worker)
        self._watched[worker] = handle
        asyncio.get_running_loop().add_reader(handle, self._on_end, worker)

    def _open(self, worker: WorkerId) -> int | None:
        child = self._children.get(worker)
        if child is not None and child.poll() is None:
            return os.pidfd_open(child.pid)
        with self._locks:
            return processes.open_holder(self._site.directory / worker / LAUNCH_LOCK)

    def _on_end(self, worker: WorkerId) -> None:
        self._unwatch(worker)
        self._reap(worker)
        self._notify()

    def _unwatch(self, worker: WorkerId) -> None:
        handle = self._watched.pop(worker)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)

    def _reap(self, worker: WorkerId) -> None:
        """Collect the exit code of an ended child."""
        child = self._children.get(worker)
        if child is not None and child.poll() is not None:
            del self._children[worker]
            _log.info("a worker's process ended", worker=worker, exit_code=child.returncode)

    async def _end_worker(self, worker: WorkerId) -> None:
        handle = self._open(worker)
        if handle is not None:
            try:
                await self._end_by(handle, ())
            finally:
                os.close(handle)

    async def _end(self, pid: int) -> None:
        with processes.opened(pid) as handle:
            if handle is not None:
                await self._end_by(handle, processes.descendants(pid))

    async def _end_by(self, handle: int, tree: Sequence[int]) -> None:
        """Send SIGTERM, and after the timeout SIGKILL, to the process and its descendants."""
        processes.send(handle, signal.SIGTERM)
        if await _ended(handle, self._site.stop_timeout_s):
            return
        _log.warning("a process did not exit after SIGTERM and was killed")
        processes.send(handle, signal.SIGKILL)
        for pid in tree:
            with processes.opened(pid) as member:
                if member is not None:
                    processes.send(member, signal.SIGKILL)
        await _ended(handle, 5.0)


async def _ended(handle: int, stop_timeout_s: float) -> bool:
    """Wait for a process; its descriptor becomes readable when it ends."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(handle, over.set)
    try:
        async with asyncio.timeout(stop_timeout_s):
            await over.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(handle)
    return True


def _find_parent(folder: Path) -> int | None:
    """Return the warm parent that outlived its daemon, after checking its command line."""
    with suppress(OSError, ValueError, IndexError):
        pid = int((folder / PARENT_LOCK).read_text().split()[0])
        arguments = processes.command_line(pid)
        if _PARENT_MODULE in arguments and str(folder / PARENT_LOCK.parent) in arguments:
            return pid
    return None


def _bound(log: Path) -> None:
    """Limit the log to a size, with one older copy. The worker appends, so it is truncated in place."""
    with suppress(OSError):
        if log.stat().st_size > LARGEST_LOG_BYTES:
            shutil.copyfile(log, log.with_name(f"{LOG}.1"))
            os.truncate(log, 0)


def _nobody() -> None:
    """Default until `watch` is called."""
