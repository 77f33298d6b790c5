"""Wakes tasks that wait for a tenant's changes: event streams, and requests that wait for the answer to a command.

A wake is only a hint: a waiter then reads the table from its own position, and it also polls slowly. A waiter that gets the answer itself need not read.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol
from uuid import UUID

import structlog

from muster.errors import MusterError, Transient
from shared.bus import Bus
from shared.ids import TenantId
from shared.messages.base import Event, Hint

View = tuple[TenantId, frozenset[tuple[str, str]]]
"""The tenant, and the scopes that row-level security filters by."""
_ENTITY = "feed"
_MOST_ABOUT = 64
"""Maximum number of ids in a hint. A hint about more is sent without ids and wakes every waiter of the tenant."""
_log = structlog.get_logger()


class _Carries(Protocol):
    """The part of a bus message that is read here."""

    data: bytes


class Waiter:
    """Waits for changes of a tenant. A change between two waits is not missed.

    Args:
        about: the experiments and operations to wait for; None: any.
    """

    def __init__(self, about: frozenset[UUID] | None = None) -> None:
        self._about = about
        self._changed = asyncio.Event()
        self._ended = False
        self._hinted: set[UUID] = set()
        self.answer: Event | None = None
        """The owner's answer to the awaited operation, if this replica has projected it."""

    def take(self, answers: Mapping[UUID, Event]) -> None:
        """Keep the answer to the awaited operation, if it is among `answers`."""
        for operation_id in (self._about or frozenset()) & answers.keys():
            self.answer = answers[operation_id]

    def notify(self, about: Collection[UUID] | None) -> None:
        """Wake the waiter if the change concerns it. `about` None: the change may concern anything."""
        if self._about is None or about is None or not self._about.isdisjoint(about):
            self.wake()

    def wake(self) -> None:
        self._changed.set()

    def hint(self, entity: UUID) -> None:
        """Wake the waiter and keep the entity until `take_hinted`."""
        self._hinted.add(entity)
        self.wake()

    def take_hinted(self) -> set[UUID]:
        """Return and clear the hinted entities. Hints may be lost, so callers must also check everything now and then."""
        hinted, self._hinted = self._hinted, set()
        return hinted

    def end(self) -> None:
        self._ended = True
        self.wake()

    async def wait(self, timeout_s: float) -> None:
        """Return at the next change or after `timeout_s` seconds. Raises Transient when the gateway shuts down."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
        finally:
            self._changed.clear()
            if self._ended:
                raise Transient("this gateway is shutting down; connect again", 0.5, "restarting")


class Feed:
    """The waiters of this process, woken by its own projections and by hints of other replicas."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiters: defaultdict[TenantId, set[Waiter]] = defaultdict(set)
        self._versions: defaultdict[TenantId, int] = defaultdict(int)

    async def start(self) -> None:
        """Subscribe to the hints of other replicas."""
        await self._bus.subscribe(f"live.v{Hint.VERSION}.*.{_ENTITY}.*", self._on_hint)

    @contextmanager
    def waiting(self, tenant: TenantId, about: frozenset[UUID] | None = None) -> Iterator[Waiter]:
        """Yield a waiter for the tenant's changes: of these experiments and refused operations, or of any if `about` is None."""
        waiter = Waiter(about)
        self._waiters[tenant].add(waiter)
        try:
            yield waiter
        finally:
            self._waiters[tenant].discard(waiter)
            if not self._waiters[tenant]:
                del self._waiters[tenant]

    @asynccontextmanager
    async def waiting_on(self, tenant: TenantId) -> AsyncIterator[Waiter]:
        """`waiting` as an async context manager, interchangeable with `waiting_for`."""
        with self.waiting(tenant) as waiter:
            yield waiter

    @asynccontextmanager
    async def waiting_for(self, tenant: TenantId, entity: str, id: UUID | None) -> AsyncIterator[Waiter]:
        """Yield a waiter that the tenant's changes wake, and hints of an entity: `logs` of a trial, the `search` of an experiment. `id` None: any."""
        with self.waiting(tenant) as waiter:

            async def wake(message: _Carries) -> None:
                waiter.hint(Hint.from_bytes(message.data).id)

            subject = f"live.v{Hint.VERSION}.{tenant}.{entity}.{id or '*'}"
            subscription = await self._bus.subscribe(subject, wake)
            try:
                yield waiter
            finally:
                with suppress(Exception):  # A closed connection has no subscriptions.
                    await subscription.unsubscribe()

    def version(self, tenant: TenantId) -> int:
        """Return a number that increases with every change of the tenant that this process learns of. It is part of cache keys."""
        return self._versions[tenant]

    def invalidate(self, tenant: TenantId) -> None:
        """Increase the tenant's version: a change was seen, perhaps before its hint."""
        self._versions[tenant] += 1

    async def changed(self, tenant: TenantId, position: int, about: Collection[UUID] | None = None) -> None:
        """Wake the tenant's waiters on all replicas.

        Args:
            about: the experiments whose representation has changed, or the refused operations; None: any.
        """
        if about is not None and len(about) > _MOST_ABOUT:
            about = None
        self._wake(tenant, about)
        await asyncio.sleep(0)  # Let local waiters run before the other replicas are notified.
        named = None if about is None else tuple(about)
        try:
            await self._bus.hint(Hint(entity=_ENTITY, id=tenant, cursor=position, about=named), tenant)
        except MusterError as error:
            _log.debug("hint not sent", error=str(error))

    async def answered(self, tenant: TenantId, answers: Mapping[UUID, Event]) -> None:
        """Pass the owners' answers, by operation, to local waiters, which then need not read the tables. `changed` wakes them."""
        for waiter in self._waiters.get(tenant, ()):
            waiter.take(answers)

    def end(self) -> None:
        """End all waits with an error. Clients resume their streams on another replica or after the restart."""
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.end()

    async def _on_hint(self, message: _Carries) -> None:
        hint = Hint.from_bytes(message.data)
        self._wake(TenantId(hint.id), hint.about)

    def _wake(self, tenant: TenantId, about: Collection[UUID] | None) -> None:
        self.invalidate(tenant)
        for waiter in self._waiters.get(tenant, ()):
            waiter.notify(about)
