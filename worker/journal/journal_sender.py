"""Sends a journal to the registry: one batch in flight; the reply is the committed mark, and only then are records deleted."""

import asyncio
from collections.abc import Awaitable, Callable

from muster.errors import MusterError, Rejected, Transient
from shared.messages.reports import Mark
from shared.runtime import faults
from shared.runtime.outages import Outages
from worker.journal.journal import Journal

AFTER_MARK = faults.register("worker.after_mark")
LINGER_S = 0.25
"""Batching delay. Ranks ring twice a second for plain reports; a burst fills the next batch meanwhile."""
FIRST_RETRY_S = 0.1
MAX_RETRY_S = 5.0
_SENDING = "sending reports; they wait in the journal"

Send = Callable[[int, list[bytes]], Awaitable[Mark]]


class Source:
    """Sends the journal's records. The first record goes at once; those right behind it wait up to 250 ms, unless one is urgent."""

    def __init__(self, journal: Journal, send: Send, on_refused: Callable[[str], None]) -> None:
        self._journal = journal
        self._send = send
        self._on_refused = on_refused
        self._filled = asyncio.Event()
        self._urgent = asyncio.Event()
        self._sent_at = -LINGER_S
        self._retry_s = 0.0
        self._outages = Outages()
        if not journal.is_drained:
            self._filled.set()

    @property
    def is_drained(self) -> bool:
        """Whether the registry has all records."""
        return self._journal.is_drained

    def wake(self, urgent: bool) -> None:
        """Announce appended records."""
        self._filled.set()
        if urgent:
            self._urgent.set()

    async def run(self) -> None:
        """Send until cancelled; the owner closes the journal."""
        loop = asyncio.get_running_loop()
        while True:
            await self._filled.wait()
            await self._linger(self._sent_at + LINGER_S - loop.time())
            self._filled.clear()
            self._urgent.clear()
            self._sent_at = loop.time()
            await self._send_all()

    async def _linger(self, left_s: float) -> None:
        if left_s <= 0 or self._urgent.is_set():
            return
        try:
            async with asyncio.timeout(left_s):
                await self._urgent.wait()
        except TimeoutError:
            return

    async def _send_all(self) -> None:
        """Send until the journal is empty, including records that are appended meanwhile."""
        while not self._journal.is_drained:
            first, payloads = self._journal.read_batch()
            try:
                mark = await self._send(first, payloads)
                faults.point(AFTER_MARK)
                self._accept(mark, first)
            except MusterError as error:
                if isinstance(error, Rejected):
                    self._on_refused(f"{error.code}: {error}; the data waits on the worker")
                await self._back_off(error)

    def _accept(self, mark: Mark, first: int) -> None:
        if mark.retry_after_s is not None:
            raise Transient("the registry does not accept reports now", retry_after_s=mark.retry_after_s)
        if mark.refused:
            self._on_refused(mark.refused)
        if mark.next <= first:
            raise Transient(f"the registry expects record {mark.next}, the journal begins at {first}")
        self._retry_s = 0.0
        self._outages.worked(_SENDING)
        self._journal.commit(mark.next)

    async def _back_off(self, error: MusterError) -> None:
        asked_s = error.retry_after_s if isinstance(error, Transient) else MAX_RETRY_S
        self._retry_s = min(max(FIRST_RETRY_S, self._retry_s * 2), MAX_RETRY_S)
        if self._retry_s >= 1:
            self._outages.failed(_SENDING, error)
        await asyncio.sleep(min(max(self._retry_s, min(asked_s, 1.0)), MAX_RETRY_S))
