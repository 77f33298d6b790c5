"""A driver wrapper that lists machines in the background: a cloud needs seconds to list hundreds of machines, and launches must not wait."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Sighting
from services.provisioner.drivers.driver import MachineDriver, MachineIdentity, MachineRef
from services.provisioner.metrics import provider_call
from shared.clock import Clock
from shared.errors import MusterError, Transient
from shared.ids import WorkerId

EVERY = timedelta(seconds=1)
"""Interval between the starts of two listings."""
MAX_AGE = timedelta(seconds=30)
"""Listings older than this are not returned. It adds to the delay after which a change is seen."""
ALL_EVERY = MAX_AGE / 2
"""Interval of full listings while launched machines are awaited; between them only the awaited ones are listed.

A cloud lists few machines sooner, and may be asked for more meanwhile.
"""


class PollingDriver:
    """Delegates to a driver, but `observe` returns the newest listing while another is made; `notify` is called on changes."""

    def __init__(self, driver: MachineDriver, clock: Clock) -> None:
        self._driver = driver
        self._clock = clock
        self._notify: Callable[[], None] = lambda: None
        self._seen: Mapping[WorkerId, Sighting] | None = None
        self._seen_at = self._started_at = float("-inf")
        self._failure: MusterError | None = None
        self._looking: asyncio.Task[None] | None = None
        self._awaited: dict[WorkerId, IntentId] = {}

    @property
    def name(self) -> str:
        return self._driver.name

    @property
    def most_per_intent(self) -> int:
        return self._driver.most_per_intent

    @property
    def lateness(self) -> timedelta:
        return self._driver.lateness + MAX_AGE

    @property
    def terminates_orphans(self) -> bool:
        return self._driver.terminates_orphans

    @property
    def identity(self) -> MachineIdentity | None:
        return self._driver.identity

    def watch(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._driver.watch(notify)

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        launched = await self._driver.launch(intent, tokens)
        self._awaited |= dict.fromkeys(launched.placed, intent.id)
        return launched

    async def start_again(self, instance: Instance, token: str | None) -> None:
        await self._driver.start_again(instance, token)

    async def kick(self, worker: WorkerId) -> None:
        await self._driver.kick(worker)

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        await self._driver.terminate(machines)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        """Return the newest listing, waiting only for the first one.

        The awaited machines follow from the launches; `awaited` is ignored.

        Raises:
            Transient: The provider has not answered for longer than listings are valid.
        """
        if self._looking is not None and self._looking.done():
            # Errors that are not the provider's end the process, as without this wrapper.
            self._looking.result()
            self._looking = None
        now = self._clock.monotonic()
        if self._looking is None and now - self._started_at >= EVERY.total_seconds():
            self._started_at = now
            self._looking = asyncio.create_task(self._look())
        if self._seen is None and self._failure is None and self._looking is not None:
            await asyncio.shield(self._looking)
        if self._seen is not None and self._clock.monotonic() - self._seen_at <= MAX_AGE.total_seconds():
            return self._seen
        if self._failure is not None:
            raise self._failure
        raise Transient(
            f"the provider {self.name} has not listed its machines for {MAX_AGE.total_seconds():.0f} s"
        )

    async def close(self) -> None:
        """Cancel the listing in progress."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        began = self._clock.monotonic()
        awaited = dict(self._awaited)
        is_partial = bool(awaited) and began - self._seen_at < ALL_EVERY.total_seconds()
        try:
            with provider_call(self.name, "observe"):
                listed = await self._driver.observe(set(awaited.values()) if is_partial else None)
        except MusterError as error:
            has_changed = self._failure is None
            self._failure = error
        else:
            seen = {**(self._seen or {}), **listed} if is_partial else listed
            has_changed = seen != self._seen or self._failure is not None
            self._seen, self._failure = seen, None
            self._seen_at = self._seen_at if is_partial else began
            # Machines missing even from a full listing are late; do not list them so often.
            for worker in listed if is_partial else awaited:
                self._awaited.pop(worker, None)
        if has_changed:
            self._notify()
