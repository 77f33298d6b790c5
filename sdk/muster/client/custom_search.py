"""Drivers of custom searches (`searcher.name: custom`).

    with connect() as client:
        search = client.drive(31)
        search.create("t0", {"lr": 0.1}, until=1)
        for event in search.events():
            if event.kind == "validation":
                search.go_on(event.key, until=2 * event.at) if good(event.value) else search.stop(event.key)

Operations of the loop's body are sent together with the acknowledgement of the event, atomically. The program may be killed at
any time: after a restart it receives the first unacknowledged event again. Repeated operations take effect once: a program without
its own state may repeat `create` with the same keys.
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
"""Seconds that a request for events waits at the platform."""
PAGE = 100
_OVER = "experiment_is_"
"""Prefix of error codes for an experiment that has ended or is ending."""


class _Actions:
    """Pending operations of a search, not sent yet."""

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
        """Create a trial under a key of your choice.

        Args:
            key: Key of the trial, unique within the search.
            hyperparameters: Its point; constants of the space are added. None lets the config's sampler propose one.
            until: Time, in `searcher.time_metric`, at which you decide again; None trains to the script's own end.
            source: Key of the trial from whose newest checkpoint this one starts.
        """
        given: JsonObject = {"hyperparameters": hyperparameters, "until": until, "source": source}
        self._add("create", key=key, **given)

    def go_on(self, key: str, until: float | None = None) -> None:
        """Continue a trial until a later time; None trains to the script's own end."""
        self._add("go_on", key=key, until=until)

    def stop(self, key: str) -> None:
        """Stop a trial; it saves and releases its slots."""
        self._add("stop", key=key)

    def progress(self, share: float) -> None:
        """Set the progress of the search, 0 to 1, shown to users."""
        self._add("progress", share=share)

    def shutdown(self, reason: str | None = None) -> None:
        """End the search: pending operations are carried out, trials that wait for a decision end, and no trials are created."""
        self._add("shutdown", reason=reason)

    def fail(self, reason: str | None = None) -> None:
        """Fail the search: its trials are killed, and the experiment ends with an error."""
        self._add("fail", reason=reason)

    def _add(self, verb: str, **given: JsonValue) -> None:
        self._operations.append(
            {"verb": verb, **{name: value for name, value in given.items() if value is not None}}
        )

    def _taken(self) -> list[JsonValue]:
        taken, self._operations = self._operations, []
        return taken


class _Requests:
    """Blocking requests of a driver."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None) -> None:
        self._transport = transport
        self._path = f"/v1/experiments/{segment(experiment)}/search"
        self._driver = driver or f"{socket.gethostname()}:{os.getpid()}"

    def look(self) -> models.DrivenSearch:
        return self._transport.get(models.DrivenSearch, self._path)

    def send(self, operations: Sequence[JsonValue], acknowledge: int | None) -> None:
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
        """Return the next events; waits for a platform that is unavailable for less than a minute."""
        query: Query = {"after": after, "limit": PAGE, "wait": wait_s, "driver": self._driver}
        retry_limit = RetryDeadline()
        while True:
            try:
                return self._transport.get(models.SearchEventPage, f"{self._path}/events", query)
            except Transient as error:
                retry_limit.wait_or_raise(error)

    def answer(self, operations: Sequence[JsonValue], acknowledge: int | None) -> None:
        """Send operations, with retries for up to a minute; operations that are too late because the experiment ends are dropped."""
        retry_limit = RetryDeadline()
        while True:
            try:
                return self.send(operations, acknowledge)
            except Transient as error:
                retry_limit.wait_or_raise(error)
            except Conflict as error:
                if not operations or not error.code.startswith(_OVER):
                    raise
                operations = ()


class Search(_Actions):
    """A search driven by this program. Operations are collected until `tell`, or until the next iteration over `events`."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None = None) -> None:
        super().__init__()
        self._requests = _Requests(transport, experiment, driver)

    def look(self) -> models.DrivenSearch:
        """Return the driver of the search and its number of unacknowledged events."""
        return self._requests.look()

    def tell(self, acknowledge: int | None = None) -> None:  # glossary: allowed
        """Send the pending operations atomically.

        Args:
            acknowledge: Number of the last event to acknowledge.

        Raises:
            Rejected: An operation is invalid; the error's place names it.
            Conflict: A key belongs to another trial, or the experiment has ended.
        """
        self._requests.send(self._taken(), acknowledge)

    def history(self) -> Iterator[models.SearchEvent]:
        """Yield the acknowledged events in order, to restore the state of a program that stores none."""
        return self._requests.history()

    def events(self) -> Iterator[models.SearchEvent]:
        """Yield events in order, from the first unacknowledged one, until the experiment has ended.

        Each iteration sends the operations since the last one and acknowledges the event with them. Waits for a platform that is
        unavailable for less than a minute.

        Raises:
            Rejected: An operation is invalid.
            Conflict: A key belongs to another trial: another program may be driving this search.
        """
        self._requests.answer(self._taken(), None)
        after: int | None = None
        while True:
            page = self._requests.page(after)
            for event, acknowledge in _answered(page):
                yield event
                self._requests.answer(self._taken(), acknowledge)
            if page.over:
                return
            after = page.after


class AsyncSearch(_Actions):
    """`Search` for `async` programs: requests are awaited, operations are collected synchronously."""

    def __init__(self, transport: Transport, experiment: Reference, driver: str | None = None) -> None:
        super().__init__()
        self._requests = _Requests(transport, experiment, driver)

    async def look(self) -> models.DrivenSearch:
        """Return the driver of the search and its number of unacknowledged events."""
        return await asyncio.to_thread(self._requests.look)

    async def tell(self, acknowledge: int | None = None) -> None:  # glossary: allowed
        """Send the pending operations; see `Search.tell`."""
        await asyncio.to_thread(self._requests.send, self._taken(), acknowledge)

    async def history(self) -> list[models.SearchEvent]:
        """Return the acknowledged events in order."""
        return await asyncio.to_thread(lambda: list(self._requests.history()))

    async def events(self) -> AsyncIterator[models.SearchEvent]:
        """Yield events; see `Search.events`."""
        await asyncio.to_thread(self._requests.answer, self._taken(), None)
        after: int | None = None
        while True:
            page = await asyncio.to_thread(self._requests.page, after)
            for event, acknowledge in _answered(page):
                yield event
                await asyncio.to_thread(self._requests.answer, self._taken(), acknowledge)
            if page.over:
                return
            after = page.after


def _answered(page: models.SearchEventPage) -> Iterator[tuple[models.SearchEvent, int]]:
    """Pair each event with the number to acknowledge after it: of events with one number, only the last acknowledges it."""
    following = [*(event.number for event in page.items[1:]), None]
    for event, number in zip(page.items, following, strict=False):
        yield event, event.number - 1 if number == event.number else event.number
