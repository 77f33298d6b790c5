"""Wakes whoever waits for a tenant's changes: event streams, and commands that wait for their answer.

A wake is a hint. Who waits reads the table from its own position, and does so on a slow poll too; whose answer is handed over with it need not.
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
"""Whose things, and what row-level security leaves of them."""
_ENTITY = "feed"
_MOST_ABOUT = 64
"""A hint names no more experiments than this; one about more may be about any."""
_log = structlog.get_logger()


class _Carries(Protocol):
    """A message of the bus, as far as it is read here."""

    data: bytes


class Waiter:
    """One place where changes of a tenant are waited for; a change between two waits is not missed.

    Args:
        about: the experiments and operations whose changes are waited for; None: any.
    """

    def __init__(self, about: frozenset[UUID] | None = None) -> None:
        self._about = about
        self._changed = asyncio.Event()
        self._ended = False
        self._hinted: set[UUID] = set()
        self.answer: Event | None = None
        """What the owner said to the operation that is waited for, where this replica has projected it."""

    def take(self, answers: Mapping[UUID, Event]) -> None:
        """Keeps the answer to the operation that is waited for, if it is among these."""
        for operation_id in (self._about or frozenset()) & answers.keys():
            self.answer = answers[operation_id]

    def hear(self, about: Collection[UUID] | None) -> None:
        """Wakes who waits, unless the change is of other things than they wait for; None: perhaps of any."""
        if self._about is None or about is None or not self._about.isdisjoint(about):
            self.wake()

    def wake(self) -> None:
        self._changed.set()

    def hint(self, entity: UUID) -> None:
        """Wakes who waits, and keeps what it is about until it is taken."""
        self._hinted.add(entity)
        self.wake()

    def take_hinted(self) -> set[UUID]:
        """What hints were about since this was last asked. A hint may be lost: who goes by them looks at everything now and then."""
        hinted, self._hinted = self._hinted, set()
        return hinted

    def end(self) -> None:
        self._ended = True
        self.wake()

    async def wait(self, timeout_s: float) -> None:
        """Returns at the next change, or after `timeout_s`. Raises Transient when the gateway goes down."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
        finally:
            self._changed.clear()
            if self._ended:
                raise Transient("this gateway is going down; connect again", 0.5, "restarting")


class Feed:
    """The waiters of this process, woken by its own projections and by hints of other replicas."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiters: defaultdict[TenantId, set[Waiter]] = defaultdict(set)
        self._versions: defaultdict[TenantId, int] = defaultdict(int)

    async def start(self) -> None:
        """Listens to the other replicas."""
        await self._bus.subscribe(f"live.v{Hint.VERSION}.*.{_ENTITY}.*", self._on_hint)

    @contextmanager
    def waiting(self, tenant: TenantId, about: frozenset[UUID] | None = None) -> Iterator[Waiter]:
        """A waiter for the tenant's changes: of these experiments and refused operations, or (None) of any."""
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
        """`waiting`, where it is entered as `waiting_for` is."""
        with self.waiting(tenant) as waiter:
            yield waiter

    @asynccontextmanager
    async def waiting_for(self, tenant: TenantId, entity: str, id: UUID | None) -> AsyncIterator[Waiter]:
        """Woken by the tenant's changes, and by hints of the entity (None: of any): `logs` of a trial, the `search` of an experiment."""
        with self.waiting(tenant) as waiter:

            async def wake(message: _Carries) -> None:
                waiter.hint(Hint.from_bytes(message.data).id)

            subject = f"live.v{Hint.VERSION}.{tenant}.{entity}.{id or '*'}"
            subscription = await self._bus.subscribe(subject, wake)
            try:
                yield waiter
            finally:
                with suppress(Exception):  # a connection that is gone holds no subscription
                    await subscription.unsubscribe()

    def version(self, tenant: TenantId) -> int:
        """A number that rises with each change of the tenant that this process learns of: part of the key under which its things are cached."""
        return self._versions[tenant]

    def note(self, tenant: TenantId) -> None:
        """Raise the tenant's version: a change was seen, perhaps before it is told of."""
        self._versions[tenant] += 1

    async def changed(self, tenant: TenantId, position: int, about: Collection[UUID] | None = None) -> None:
        """Wakes the tenant's waiters here and on the other replicas.

        Args:
            about: the experiments that are another's view now than before, or the operations that were refused; None: perhaps any.
        """
        if about is not None and len(about) > _MOST_ABOUT:
            about = None
        self._wake(tenant, about)
        await asyncio.sleep(0)  # who waits here goes on before the others are told
        named = None if about is None else tuple(about)
        try:
            await self._bus.hint(Hint(entity=_ENTITY, id=tenant, cursor=position, about=named), tenant)
        except MusterError as error:
            _log.debug("a hint was not sent", error=str(error))

    async def answered(self, tenant: TenantId, answers: Mapping[UUID, Event]) -> None:
        """Hands owners' answers, by their operations, to those who wait for them here: they need not look. `changed` wakes them."""
        for waiter in self._waiters.get(tenant, ()):
            waiter.take(answers)

    def end(self) -> None:
        """Sends whoever waits here away: streams are taken up again at another replica, or at the next start."""
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.end()

    async def _on_hint(self, message: _Carries) -> None:
        hint = Hint.from_bytes(message.data)
        self._wake(TenantId(hint.id), hint.about)

    def _wake(self, tenant: TenantId, about: Collection[UUID] | None) -> None:
        self.note(tenant)
        for waiter in self._waiters.get(tenant, ()):
            waiter.hear(about)
