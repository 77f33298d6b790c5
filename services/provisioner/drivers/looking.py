"""A driver whose looks are made beside the loop: a cloud needs seconds to show hundreds of machines, and a launch waits for none of them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from services.provisioner.core.instance import Instance
from services.provisioner.core.intents import Intent, Launched, Sighting
from services.provisioner.drivers.base import Driver, Identity, Machine
from shared.clock import Clock
from shared.errors import MusterError, Transient
from shared.ids import WorkerId

EVERY = timedelta(seconds=1)
"""Between the beginnings of two looks."""
MAX_AGE = timedelta(seconds=30)
"""A look that is older is shown no more; what happened meanwhile is seen by so much later than the provider shows it."""


class LookingDriver:
    """The driver beneath, but `observe` shows the newest look and has another made meanwhile; `notify` is called when one shows something new."""

    def __init__(self, driver: Driver, clock: Clock) -> None:
        self._driver = driver
        self._clock = clock
        self._notify: Callable[[], None] = lambda: None
        self._seen: Mapping[WorkerId, Sighting] | None = None
        self._seen_at = self._begun_at = float("-inf")
        self._failure: MusterError | None = None
        self._looking: asyncio.Task[None] | None = None

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
    def ends_strangers(self) -> bool:
        return self._driver.ends_strangers

    @property
    def identity(self) -> Identity | None:
        return self._driver.identity

    def watch(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._driver.watch(notify)

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        return await self._driver.launch(intent, tokens)

    async def start_again(self, instance: Instance, token: str | None) -> None:
        await self._driver.start_again(instance, token)

    async def kick(self, worker: WorkerId) -> None:
        await self._driver.kick(worker)

    async def terminate(self, machines: Collection[Machine]) -> None:
        await self._driver.terminate(machines)

    async def observe(self) -> Mapping[WorkerId, Sighting]:
        """The newest look. Only the first is waited for.

        Raises:
            Transient: The provider has not said for longer than looks are good.
        """
        if self._looking is not None and self._looking.done():
            # What is no error of a provider ends the process, as it would without us.
            self._looking.result()
            self._looking = None
        now = self._clock.monotonic()
        if self._looking is None and now - self._begun_at >= EVERY.total_seconds():
            self._begun_at = now
            self._looking = asyncio.create_task(self._look())
        if self._seen is None and self._failure is None and self._looking is not None:
            await asyncio.shield(self._looking)
        if self._seen is not None and self._clock.monotonic() - self._seen_at <= MAX_AGE.total_seconds():
            return self._seen
        if self._failure is not None:
            raise self._failure
        raise Transient(
            f"the provider {self.name} has not shown its machines for {MAX_AGE.total_seconds():.0f} s"
        )

    async def close(self) -> None:
        """Gives up the look that is under way."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        began = self._clock.monotonic()
        try:
            seen = await self._driver.observe()
        except MusterError as error:
            has_news = self._failure is None
            self._failure = error
        else:
            has_news = seen != self._seen or self._failure is not None
            self._seen, self._seen_at, self._failure = seen, began, None
        if has_news:
            self._notify()
