"""The client for programs that are `async`: the resources and methods of `Client`, derived from it.

async with connect_async() as client:
    made = await client.experiments.create(config, folder)
    async for line in client.experiments.follow_logs(made.number):
        print(line.text)
"""

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from muster.client.client import Client, connect
from muster.client.custom_search import AsyncSearch
from muster.client.http.transport import Reference
from muster.client.resources import AsyncResources
from muster.client.resources.platform import AsyncPlatform
from muster.client.settings import Address

THREADS = 64
"""So many calls and streams are under way at once; further ones wait."""


class AsyncClient(AsyncPlatform, AsyncResources):
    """`Client`, awaited; use it in `async with`, or await `close`. What `experiments.wait` and the like tell while they work, they tell from a thread."""

    def __init__(self, client: Client) -> None:
        AsyncPlatform.__init__(self, client, ThreadPoolExecutor(THREADS, "muster-client"))
        AsyncResources.__init__(self, client, self._pool)
        self.address = client.address
        self._client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; what is still being streamed ends."""
        self._client.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def only(self, *fields: str) -> "AsyncClient":
        """Return the same client for reading these fields alone: `client.only("number", "best.value").experiments.list()`.

        Of what is listed they are fields of the items. What was not asked for is not there: to read it raises AttributeError.
        What changes something, streams and tables answer as ever.
        """
        return AsyncClient(self._client.only(*fields))

    def drive(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the search of an experiment whose searcher is `custom`, to be driven by this program, which people see as `driver`."""
        return self._client.drive_async(experiment, driver)


def connect_async(address: Address | None = None) -> AsyncClient:
    """Return an asynchronous client of the platform at `address`, by default of the one that `discover` finds."""
    return AsyncClient(connect(address))
