"""Runs that the scheduler has released, until the registry has all their data."""

import asyncio
from collections.abc import Callable

from shared.ids import RunId
from worker.ranks.launch.trial_file import is_elastic, spec_of
from worker.runs.context import RunContext, Tools
from worker.store.store import Store

DRAIN_CHECK_S = 0.5
DROP_ATTEMPTS = 20


class Draining:
    """Deletes each run's directory once all its data is sent, and then calls `on_change`."""

    def __init__(self, tools: Tools, store: Store, on_change: Callable[[], None]) -> None:
        self._tools = tools
        self._store = store
        self._on_change = on_change
        self.contexts: set[RunContext] = set()

    def add(self, context: RunContext) -> None:
        """Send the remaining data of an ended run."""
        self.contexts.add(context)
        context.start(self._drop_when_drained(context), "drain")

    def has(self, run_id: RunId) -> bool:
        """Whether data of this run is still being sent."""
        return any(context.run.run_id == run_id for context in self.contexts)

    async def _drop_when_drained(self, context: RunContext) -> None:
        while True:
            if context.is_drained:
                break
            await asyncio.sleep(DRAIN_CHECK_S)
        self.contexts.discard(context)
        run_id = context.run.run_id
        context.tasks.discard(asyncio.current_task())
        await context.close()
        for _ in range(DROP_ATTEMPTS):
            if self._tools.machine.cgroups.drop(run_id):
                break
            self._tools.machine.cgroups.end(run_id)
            await asyncio.sleep(DRAIN_CHECK_S)
        if networks := self._tools.machine.networks:
            networks.release(run_id)
        may_return = is_elastic(spec_of(context.stored.allocation))
        (self._store.leave_run if may_return else self._store.drop_run)(run_id)
        self._on_change()
