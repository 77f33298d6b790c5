"""Publishes hints after commits: cursors only, at most a few per second and entity. Clients that miss one poll slowly."""

import asyncio
from uuid import UUID

import structlog

from shared.bus import Bus
from shared.errors import Transient
from shared.ids import TenantId
from shared.messages.base import Hint

APART_S = 0.1
_log = structlog.get_logger()


class Hints:
    """Publishes hints for `metrics` and `logs` of trials: the first at once, then the newest of the rest a little later."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._newest: dict[tuple[TenantId, str, UUID], int] = {}
        self._tasks: dict[tuple[TenantId, str, UUID], asyncio.Task[None]] = {}

    async def metrics(self, tenant: TenantId, trial: UUID, cursor: int) -> None:
        """Announce that a trial has new points."""
        self._hint((tenant, "metrics", trial), cursor)

    async def logs(self, tenant: TenantId, trial: UUID, cursor: int) -> None:
        """Announce the newest line of a trial's log."""
        self._hint((tenant, "logs", trial), cursor)

    async def close(self) -> None:
        """Stop sending."""
        for task in list(self._tasks.values()):
            task.cancel()

    def _hint(self, of: tuple[TenantId, str, UUID], cursor: int) -> None:
        self._newest[of] = cursor
        if of not in self._tasks:
            task = asyncio.create_task(self._send(of))
            self._tasks[of] = task
            task.add_done_callback(lambda _: self._tasks.pop(of, None))

    async def _send(self, of: tuple[TenantId, str, UUID]) -> None:
        tenant, entity, trial = of
        while (cursor := self._newest.pop(of, None)) is not None:
            try:
                await self._bus.hint(Hint(entity=entity, id=trial, cursor=cursor), tenant)
            except Transient as error:
                _log.debug("a hint was not sent", error=str(error))
            await asyncio.sleep(APART_S)
