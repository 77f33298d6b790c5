"""Searches that a program of yours drives (`searcher.name: custom`).

    with connect() as client:
        search = client.drive(31)
        search.create("t0", {"lr": 0.1}, until=1)
        for event in search.events():
            if event.kind == "validation":
                search.go_on(event.key, until=2 * event.at) if good(event.value) else search.stop(event.key)

What the body of the loop tells is sent with the acknowledgement of its event, as one thing that happens whole or not at all. So the program
may be killed anywhere: begun anew it is given the first event that it had not answered. What it tells twice happens once: `create` it all
again under the same keys where it does not remember.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

from pydantic import JsonValue

from muster.client import models
from muster.client.http.errors import RetryDeadline
from muster.client.http.transport import Query, Reference, Transport, segment
from muster.client.models import JsonObject
from muster.errors import Conflict, Transient

WAIT_S = 20
"""So long one question for events waits at the platform."""
PAGE = 100
_OVER = "experiment_is_"
"""So begin the codes of refusals because the experiment has come to its end, or is about to."""


class _Actions:
    """What is told and not sent yet."""

    def __init__(self) -> None:
        self._operations: list[JsonValue] = []

    def create(
        self,
        key: str,
        hyperparameters: JsonObject | None = None,
        *,
        until: float | None = None,
        source: str | None = None,
    ) -> None:
        """Make a trial, by a name of your choice.

        Args:
            hyperparameters: Its point; the space's constants are added. None: the config's sampler proposes one.
            until: The time (of `searcher.time_metric`) at which you are asked again; None: never, it trains to its own end.
            source: The key of the trial from whose newest checkpoint it starts.
        """
        given: JsonObject = {"hyperparameters": hyperparameters, "until": until, "source": source}
        self._add("create", key=key, **given)

    def go_on(self, key: str, until: float | None = None) -> None:
        """Have a trial go on until a later time; None: to its own end."""
        self._add("go_on", key=key, until=until)

    def stop(self, key: str) -> None:
        """End a trial: it saves, and gives its slots back."""
        self._add("stop", key=key)

    def progress(self, share: float) -> None:
        """Say how much of the search is done, 0 to 1, for those who look on."""
        self._add("progress", share=share)

    def shutdown(self, reason: str | None = None) -> None:
        """End the search: what was told is carried out, trials that wait for a decision end, and no more come."""
        self._add("shutdown", reason=reason)

    def fail(self, reason: str | None = None) -> None:
        """Give the search up: its trials are killed, and the experiment ends as an error."""
        self._add("fail", reason=reason)

    def _add(self, verb: str, **given: JsonValue) -> None:
        self._operations.append(
            {"verb": verb, **{name: value for name, value in given.items() if value is not None}}
        )

    def _taken(self) -> list[JsonValue]:
        taken, self._operations = self._operations, []
        return taken


class _SearchRequests:
    """What goes to the platform and comes back; blocks."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None) -> None:
        self._transport = transport
        self._path = f"/v1/experiments/{segment(experiment)}/search"
        self._driver = driver or f"{socket.gethostname()}:{os.getpid()}"

    def look(self) -> models.DrivenSearch:
        return self._transport.get(models.DrivenSearch, self._path)

    def tell(self, operations: Sequence[JsonValue], acknowledge: int | None) -> None:
        body: JsonObject = {"operations": list(operations), "driver": self._driver}
        if acknowledge is not None:
            body["acknowledge"] = acknowledge
        if operations or acknowledge is not None:
            self._transport.post(models.DrivenSearch, f"{self._path}/tell", body)

    def history(self) -> Iterator[models.SearchEvent]:
        after = 0
        while True:
            page = self.page(after, wait_s=0)
            yield from (event for event in page.items if event.number <= page.acknowledged)
            after = page.after
            if after >= page.acknowledged:
                return

    def page(self, after: int | None, wait_s: int = WAIT_S) -> models.SearchEventPage:
        """The next events; a platform that is away for less than a minute is waited for."""
        query: Query = {"after": after, "limit": PAGE, "wait": wait_s, "driver": self._driver}
        patience = RetryDeadline()
        while True:
            try:
                return self._transport.get(models.SearchEventPage, f"{self._path}/events", query)
            except Transient as error:
                patience.bear(error)

    def answer(self, operations: Sequence[JsonValue], acknowledge: int | None) -> None:
        """Tell, as long as that may take within a minute. What comes too late, because the experiment ends, is let go."""
        patience = RetryDeadline()
        while True:
            try:
                return self.tell(operations, acknowledge)
            except Transient as error:
                patience.bear(error)
            except Conflict as error:
                if not operations or not error.code.startswith(_OVER):
                    raise
                operations = ()


class Search(_Actions):
    """A search that this program drives. What is told waits until `tell`, or until the loop over `events` comes to its next turn."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None = None) -> None:
        super().__init__()
        self._exchange = _SearchRequests(transport, experiment, driver)

    def look(self) -> models.DrivenSearch:
        """Return who drives the search, and how many events it is not done with."""
        return self._exchange.look()

    def tell(self, acknowledge: int | None = None) -> None:
        """Send what was told: all of it happens, or none.

        Raises:
            Rejected: An operation makes no sense; the error's place names it.
            Conflict: A key is another trial's, or the experiment has ended.
        """
        self._exchange.tell(self._taken(), acknowledge)

    def history(self) -> Iterator[models.SearchEvent]:
        """Yield what was acknowledged before, in order: what a program that keeps nothing of its own is to remember."""
        return self._exchange.history()

    def events(self) -> Iterator[models.SearchEvent]:
        """Yield what happens, in order, from the first event that no program has acknowledged, until the experiment has ended.

        At each turn of the loop what was told since the last is sent, and the event acknowledged with it. A platform that is away for
        less than a minute is waited for.

        Raises:
            Rejected: Something told makes no sense.
            Conflict: A key is another trial's: perhaps another program drives this search.
        """
        self._exchange.answer(self._taken(), None)
        after: int | None = None
        while True:
            page = self._exchange.page(after)
            for event, acknowledge in _answered(page):
                yield event
                self._exchange.answer(self._taken(), acknowledge)
            if page.over:
                return
            after = page.after


class AsyncSearch(_Actions):
    """`Search` for programs that are `async`: what goes to the platform is awaited, what is only noted down is not."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None = None) -> None:
        super().__init__()
        self._exchange = _SearchRequests(transport, experiment, driver)

    async def look(self) -> models.DrivenSearch:
        """Return who drives the search, and how many events it is not done with."""
        return await asyncio.to_thread(self._exchange.look)

    async def tell(self, acknowledge: int | None = None) -> None:
        """Send what was told, as `Search.tell`."""
        await asyncio.to_thread(self._exchange.tell, self._taken(), acknowledge)

    async def history(self) -> list[models.SearchEvent]:
        """Return what was acknowledged before, in order."""
        return await asyncio.to_thread(lambda: list(self._exchange.history()))

    async def events(self) -> AsyncIterator[models.SearchEvent]:
        """Yield what happens, as `Search.events`."""
        await asyncio.to_thread(self._exchange.answer, self._taken(), None)
        after: int | None = None
        while True:
            page = await asyncio.to_thread(self._exchange.page, after)
            for event, acknowledge in _answered(page):
                yield event
                await asyncio.to_thread(self._exchange.answer, self._taken(), acknowledge)
            if page.over:
                return
            after = page.after


def _answered(page: models.SearchEventPage) -> Iterator[tuple[models.SearchEvent, int]]:
    """Each event with what is acknowledged once it is answered: of several of one number, the last acknowledges them all."""
    following = [*(event.number for event in page.items[1:]), None]
    for event, number in zip(page.items, following, strict=False):
        yield event, event.number - 1 if number == event.number else event.number
