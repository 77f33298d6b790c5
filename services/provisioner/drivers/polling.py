"""A driver whose looks are made beside the loop: a cloud needs seconds to show hundreds of machines, and a launch waits for none of them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.intents import Intent, Launched, Sighting
from services.provisioner.drivers.driver import MachineDriver, MachineIdentity, MachineRef
from services.provisioner.metrics import provider_call
from shared.clock import Clock
from shared.errors import MusterError, Transient
from shared.ids import WorkerId

EVERY = timedelta(seconds=1)
"""Between the beginnings of two looks."""
MAX_AGE = timedelta(seconds=30)
"""A look that is older is shown no more; what happened meanwhile is seen by so much later than the provider shows it."""
ALL_EVERY = MAX_AGE / 2
"""While machines that were launched are awaited only they are looked for, and all so often: a cloud shows some of many sooner, and is called for more
machines meanwhile."""


class PollingDriver:
    """The driver beneath, but `observe` shows the newest look and has another made meanwhile; `notify` is called when one shows something new."""

    def __init__(self, driver: MachineDriver, clock: Clock) -> None:
        self._driver = driver
        self._clock = clock
        self._notify: Callable[[], None] = lambda: None
        self._seen: Mapping[WorkerId, Sighting] | None = None
        self._seen_at = self._begun_at = float("-inf")
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
    def ends_strangers(self) -> bool:
        return self._driver.ends_strangers

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
        """The newest look. Only the first is waited for; whom to await is known by what was launched.

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
        awaited = dict(self._awaited)
        is_partial = bool(awaited) and began - self._seen_at < ALL_EVERY.total_seconds()
        try:
            with provider_call(self.name, "observe"):
                shown = await self._driver.observe(set(awaited.values()) if is_partial else None)
        except MusterError as error:
            has_news = self._failure is None
            self._failure = error
        else:
            seen = {**(self._seen or {}), **shown} if is_partial else shown
            has_news = seen != self._seen or self._failure is not None
            self._seen, self._failure = seen, None
            self._seen_at = self._seen_at if is_partial else began
            # Whom not even a look at all shows comes too late to be asked for so often.
            for worker in shown if is_partial else awaited:
                self._awaited.pop(worker, None)
        if has_news:
            self._notify()
