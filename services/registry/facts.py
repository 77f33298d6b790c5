"""Whose reports a run's are: asked of the scheduler once, outside any transaction, and kept.

Tenant and trial of a report are derived from its allocation here, never from the message.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from shared.bus import Bus
from shared.clock import Clock
from shared.errors import NotFound, Rejected, Transient
from shared.ids import SITE, RunId, WorkerId
from shared.messages.runs import AllocationFacts, GetAllocation

KEPT_RUNS = 20_000
ASK_AGAIN_S = 1.0
UNKNOWN_RETRY_S = 2.0
TIMEOUT_S = 3.0


class Facts(Protocol):
    """What the worker's edge needs to know of who asks."""

    async def of(self, run: RunId, worker: WorkerId) -> AllocationFacts:
        """Return the run's facts; raises `Rejected` for a worker that is no member, `Transient` without an answer."""
        ...


@dataclass(slots=True)
class _Known:
    facts: AllocationFacts
    asked_at: float


class AskedFacts:
    """Facts asked of the scheduler. A worker that is no member is looked up again first: a gang may have grown."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._known: OrderedDict[RunId, _Known] = OrderedDict()
        self._asking: dict[RunId, asyncio.Task[AllocationFacts]] = {}

    async def of(self, run: RunId, worker: WorkerId) -> AllocationFacts:
        known = self._known.get(run)
        if known is not None and worker in known.facts.members:
            self._known.move_to_end(run)
            return known.facts
        if known is None or self._clock.monotonic() - known.asked_at > ASK_AGAIN_S:
            facts = await self._ask_once(run)
        else:
            facts = known.facts
        if worker not in facts.members:
            raise Rejected("not_a_member", f"worker {worker} has no part in run {run}; its data is not taken")
        return facts

    async def _ask_once(self, run: RunId) -> AllocationFacts:
        """Many batches of a new run ask together."""
        task = self._asking.get(run)
        if task is None:
            task = asyncio.create_task(self._ask(run))
            self._asking[run] = task
            task.add_done_callback(lambda _: self._asking.pop(run, None))
        return await asyncio.shield(task)

    async def _ask(self, run: RunId) -> AllocationFacts:
        try:
            facts = await self._bus.ask(GetAllocation(run_id=run), SITE, TIMEOUT_S)
        except NotFound as error:
            # Never a refusal: a scheduler restored from a backup relearns its runs from the workers.
            raise Transient(f"the scheduler does not know run {run} yet", UNKNOWN_RETRY_S) from error
        self._known[run] = _Known(facts, self._clock.monotonic())
        while len(self._known) > KEPT_RUNS:
            self._known.popitem(last=False)
        return facts
