"""The private networks of this worker's runs: a pool of prepared namespaces, and which run has which.

The kernel keeps namespaces, links and rules when the daemon is killed. A file for each run in `networks/` keeps which one it has, so that the
next daemon finds them again.
"""

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import structlog

from shared.ids import RunId
from worker.sandbox.network.commands import NetworkFailed, nft
from worker.sandbox.network.forwarding import begin_forwarding, end_forwarding
from worker.sandbox.network.gangs import Gangs, Membership
from worker.sandbox.network.namespaces import Namespaces
from worker.sandbox.network.rules import Boundary, base_rules

RETRY_S = 5.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Held:
    """The namespace of a run, and the generations of its gang whose networks it has joined."""

    number: int
    generations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """The network of a sandbox: the file of its namespace, and the text of its `/etc/resolv.conf`."""

    path: str = ""
    resolver: str = ""


@dataclass(slots=True)
class RunNetworks:
    """Hands out namespaces. The daemon's loop alone changes `_held`; `_lock` is held while namespaces are created and removed.

    Attributes:
        folder: The worker's records.
        spare: How many namespaces wait for a run.
        resolv_conf: The text of `/etc/resolv.conf` for runs.
        failure: Why no namespace can be created at present.
    """

    folder: Path
    boundary: Boundary
    namespaces: Namespaces
    spare: int
    resolv_conf: str = ""
    failure: str | None = None
    _held: dict[RunId, Held] = field(default_factory=dict)
    _ready: deque[int] = field(default_factory=deque)
    _ended: list[int] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_closed: bool = False
    _work: asyncio.Event = field(default_factory=asyncio.Event)
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self) -> None:
        """Install the rules, find what an earlier daemon left, and create the first namespace. Raises NetworkFailed."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        existing = self.namespaces.existing()
        self._held = {run: held for run, held in self._load() if held.number in existing}
        kept = {held.number for held in self._held.values()}
        begin_forwarding()
        nft(*base_rules(self.boundary, map(self.namespaces.link, sorted(kept))))
        self._ended = sorted(existing - kept)
        self._ready.append(self.namespaces.create())

    def path(self, run: RunId) -> str:
        """Return the file by which a process enters the run's namespace; empty if the run has none."""
        held = self._held.get(run)
        return str(self.namespaces.path(held.number)) if held else ""

    def access(self, run: RunId) -> NetworkAccess:
        """Return the network for the sandbox of a run; empty if the run uses the machine's network."""
        path = self.path(run)
        return NetworkAccess(path, self.resolv_conf) if path else NetworkAccess()

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[NetworkAccess]:
        """Give out a network for the block: for code of trials that belongs to no run. Raises NetworkFailed."""
        borrower = RunId(UUID(bytes=os.urandom(16)))
        await self.take(borrower)
        try:
            yield self.access(borrower)
        finally:
            self.release(borrower)

    async def take(self, run: RunId) -> str:
        """Give a run a namespace, at once if one is ready; a run that has one keeps it. Return its path.

        Raises:
            NetworkFailed: None can be created.
        """
        while run not in self._held:
            if self._ready:
                self._keep(run, Held(self._ready.popleft()))
                self._work.set()
                break
            self._done.clear()
            self._work.set()
            await self._done.wait()
            if not self._ready and self.failure:
                raise NetworkFailed(self.failure)
        return self.path(run)

    def join_gang(self, gang: Membership) -> None:
        """Connect a run to the members of a generation of its gang. A gang on one machine uses the loopback.

        Raises:
            NetworkFailed: The kernel refused, or a machine's address cannot be used.
        """
        held, mine = self._held[gang.run], gang.mine
        if mine is None or gang.is_on_one_machine or gang.generation in held.generations:
            return
        Gangs(self.namespaces, self.boundary).join(held.number, gang, mine)
        self._keep(gang.run, Held(held.number, (*held.generations, gang.generation)))

    def leave_gangs(self, run: RunId, except_generation: int) -> None:
        """Disconnect a run from its gang's other generations. Raises NetworkFailed."""
        held = self._held.get(run)
        if held is None:
            return
        for generation in held.generations:
            if generation != except_generation:
                Gangs(self.namespaces, self.boundary).leave(held.number, generation)
        left = tuple(one for one in held.generations if one == except_generation)
        self._keep(run, Held(held.number, left))

    def release(self, run: RunId) -> None:
        """Take the namespace of a run back, all of whose processes have ended. It is removed, never reused."""
        held = self._held.pop(run, None)
        if held is not None:
            self._record(run).unlink(missing_ok=True)
            self._ended.append(held.number)
            self._work.set()

    def sweep(self, known: Iterable[RunId]) -> None:
        """Take back the namespaces of runs that no longer exist here."""
        for run in set(self._held) - set(known):
            self.release(run)

    async def run(self) -> None:
        """Keep the pool filled, and remove namespaces of ended runs."""
        while True:
            self._work.clear()
            if self._is_due:
                await asyncio.to_thread(self.work_once)
                self._done.set()
            if self._is_due and not self.failure:
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S if self.failure else None):
                    await self._work.wait()

    def work_once(self) -> None:
        """Create or remove one namespace, if one is due. A failure is kept in `failure` until an attempt succeeds."""
        with self._lock:
            if self._is_closed:
                return
            try:
                self._create_or_remove()
            except NetworkFailed as error:
                if self.failure is None:
                    _log.error("a run's network could not be prepared or removed", error=error.message)
                self.failure = error.message
            else:
                self.failure = None

    def close(self) -> None:
        """Remove all namespaces, links and rules of this worker."""
        with self._lock:
            self._is_closed = True
            for number in self.namespaces.existing():
                with suppress(NetworkFailed):
                    self.namespaces.remove(number)
            for run in list(self._held):
                self._record(run).unlink(missing_ok=True)
            self._held.clear()
            self._ready.clear()
            end_forwarding(self.boundary.table)

    @property
    def _is_due(self) -> bool:
        return bool(self._ended) or len(self._ready) < self.spare

    def _create_or_remove(self) -> None:
        if len(self._ready) < self.spare:
            self._ready.append(self.namespaces.create())
        elif self._ended:
            self.namespaces.remove(self._ended[0])
            self._ended.pop(0)

    def _keep(self, run: RunId, held: Held) -> None:
        fields = {"number": held.number, "generations": held.generations}
        path = self._record(run)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(fields))
        fresh.replace(path)
        self._held[run] = held

    def _load(self) -> Sequence[tuple[RunId, Held]]:
        found = []
        for path in self.folder.glob("*.json"):
            with suppress(ValueError, KeyError, TypeError):
                fields = json.loads(path.read_text())
                held = Held(int(fields["number"]), tuple(map(int, fields["generations"])))
                found.append((RunId(UUID(path.stem)), held))
        return found

    def _record(self, run: RunId) -> Path:
        return self.folder / f"{run}.json"
