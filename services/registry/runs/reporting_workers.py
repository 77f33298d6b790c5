"""Which workers may report for a run: asked of the scheduler once, outside transactions, and cached.

Tenant and trial of a report are derived from its allocation here, never from the message.
"""

from functools import partial
from typing import Protocol

from shared.bus import Bus
from shared.clock import Clock
from shared.errors import NotFound, Rejected, Transient
from shared.ids import SITE, RunId, WorkerId
from shared.messages.runs import AllocationFacts, GetAllocation
from shared.runtime.cache import Cache

MAX_RUNS = 20_000
ASK_AGAIN_S = 1.0
UNKNOWN_RETRY_S = 2.0
TIMEOUT_S = 3.0


class Facts(Protocol):
    """Looks up the allocation of a run for a worker's request."""

    async def of(self, run: RunId, worker: WorkerId) -> AllocationFacts:
        """Return the run's facts. Raises `Rejected` for a worker that is not a member, `Transient` without an answer."""
        ...


class AskedFacts:
    """Facts asked of the scheduler. For an unknown worker it is asked again, at most once a second: the gang may have grown."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._facts = Cache[RunId, AllocationFacts]("allocations", MAX_RUNS)
        self._refreshed = Cache[RunId, AllocationFacts]("refreshed_allocations", MAX_RUNS, ASK_AGAIN_S, clock)

    async def of(self, run: RunId, worker: WorkerId) -> AllocationFacts:
        facts = await self._facts.load(run, partial(self._ask, run))
        if worker not in facts.members:
            facts = await self._refreshed.load(run, partial(self._ask, run))
            self._facts.put(run, facts)
        if worker not in facts.members:
            raise Rejected(
                "not_a_member", f"worker {worker} is not a member of run {run}; its data is rejected"
            )
        return facts

    async def _ask(self, run: RunId) -> AllocationFacts:
        try:
            return await self._bus.ask(GetAllocation(run_id=run), SITE, TIMEOUT_S)
        except NotFound as error:
            # Never a rejection: a scheduler restored from a backup learns its runs from the workers again.
            raise Transient(f"the scheduler does not know run {run} yet", UNKNOWN_RETRY_S) from error
