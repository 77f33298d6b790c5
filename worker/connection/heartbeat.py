"""Sends the observed set to the scheduler, every second and after each change, and handles a silent scheduler."""

import asyncio
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

import structlog

from muster.errors import MusterError
from shared.clock import Clock
from shared.ids import PoolName, WorkerId
from shared.messages.allocations import ObservedAllocation, ObservedSet, ReclaimNotice, Slot
from shared.runtime.outages import Outages
from worker.connection.platform_connection import PlatformConnection
from worker.connection.signed_sets import SignedSets
from worker.core.desired_set import Workload, is_abandoned, is_orphaned
from worker.machine.isolation import OfferedIsolation
from worker.machine.machine_id import machine_id
from worker.settings import WorkerSection

EVERY_S = 1.0
ANSWER_S = 1.0
AGAIN_S = 0.1
"""Retry interval after an unanswered heartbeat: a lease of 4 s must survive the loss of two messages."""
SENDING_HEARTBEATS = "sending heartbeats to the scheduler"
_log = structlog.get_logger()


class LocalRuns(Protocol):
    """The runs of this machine, as the heartbeat needs them."""

    @property
    def epoch(self) -> int: ...

    @property
    def is_drained(self) -> bool: ...

    @property
    def workload(self) -> Workload: ...

    @property
    def trouble(self) -> str | None: ...

    def observed(self) -> tuple[ObservedAllocation, ...]: ...

    def fail_all(self, reason: str) -> None: ...

    def tick(self) -> float | None: ...


class Heartbeat:
    """Sends heartbeats, and records the last contact with the scheduler."""

    def __init__(
        self,
        platform: PlatformConnection,
        settings: WorkerSection,
        slots: tuple[Slot, ...],
        incarnation: UUID,
        clock: Clock,
        signed_sets: SignedSets,
        isolation: OfferedIsolation,
        *,
        is_isolated: bool,
    ) -> None:
        """`is_isolated`: runs have another user than the worker. `has_private_networks`, set later: runs have networks of their own. `leaving`, set later, returns the cloud's reclaim notice for this machine; `on_abandoned` ends the process."""
        self._platform = platform
        self._settings = settings
        self._labels = settings.own_labels
        self._machine = machine_id(settings)
        self._isolation = isolation
        self._is_isolated = is_isolated
        self._slots = slots
        self._incarnation = incarnation
        self._clock = clock
        self._signed_sets = signed_sets
        self._sequence = 0
        self._changed = asyncio.Event()
        self._last_contact_at = clock.monotonic()
        self._outages = Outages()
        self.has_private_networks = False
        self.leaving: Callable[[], ReclaimNotice | None] = lambda: None
        self.on_abandoned: Callable[[], None] = lambda: None

    def wake(self) -> None:
        """Send a heartbeat now because something changed."""
        self._changed.set()

    def on_contact(self) -> None:
        """Record contact with the scheduler."""
        self._last_contact_at = self._clock.monotonic()

    def observe(self, runs: LocalRuns) -> ObservedSet:
        """Return the current observed set."""
        self._sequence += 1
        return ObservedSet(
            worker=WorkerId(self._settings.id),
            incarnation=self._incarnation,
            sequence=self._sequence,
            epoch=runs.epoch,
            pool=PoolName(self._settings.pool),
            address=self._settings.address,
            slots=self._slots,
            allocations=runs.observed(),
            drained=runs.is_drained,
            isolated_user=self._is_isolated,
            machine=self._machine,
            isolation=self._isolation.kind,
            isolation_detail=self._isolation.detail,
            labels=self._labels,
            trouble=runs.trouble,
            leaving=self.leaving(),
            refused_sets=self._signed_sets.refused,
            refusal=self._signed_sets.refusal,
            private_network=self.has_private_networks,
        )

    async def run(self, runs: LocalRuns) -> None:
        """Send heartbeats until the machine is abandoned, and run time-based actions."""
        while True:
            self._changed.clear()
            is_answered = await self.beat(runs)
            if is_orphaned(self._last_contact_at, self._clock.monotonic(), self._settings.orphan_after_s):
                runs.fail_all(f"the scheduler was silent for {self._settings.orphan_after_s:.0f} s")
            if self._is_abandoned(runs):
                self.on_abandoned()
                return
            look = runs.tick()
            wait_s = EVERY_S if is_answered else AGAIN_S
            if look is not None:
                wait_s = min(wait_s, max(0.01, look - self._clock.monotonic()))
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _is_abandoned(self, runs: LocalRuns) -> bool:
        """Whether to end this worker, and with it a rented machine that costs money without a scheduler and runs."""
        silent_s = self._clock.monotonic() - self._last_contact_at
        if not is_abandoned(silent_s, self._settings.contact_timeout_s, runs.workload):
            return False
        _log.warning(
            "no contact with the scheduler and no runs here: the worker exits", silent_s=round(silent_s)
        )
        return True

    async def beat(self, runs: LocalRuns) -> bool:
        """Send the set once; return whether it was answered."""
        try:
            await self._platform.request(self.observe(runs), timeout_s=ANSWER_S)
        except MusterError as error:
            self._outages.failed(SENDING_HEARTBEATS, error)
            return False
        self._outages.worked(SENDING_HEARTBEATS)
        self.on_contact()
        return True
