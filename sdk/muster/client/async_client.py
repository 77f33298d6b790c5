"""The client for `async` programs, derived from `Client` with the same resources and methods."""

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
"""Maximum number of concurrent calls and streams; further calls wait."""


class AsyncClient(AsyncPlatform, AsyncResources):
    """`Client` with awaitable methods; use it in `async with`, or await `close`. Progress callbacks such as those of `experiments.wait` run in a thread."""

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
        """Close the connections and end all streams."""
        self._client.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def only(self, *fields: str) -> "AsyncClient":
        """Return a client that reads only these fields: `client.only("number", "best.value").experiments.list()`.

        In lists, the fields are those of the items. Reading an omitted field raises AttributeError. Calls that change something,
        streams and tables are not affected.
        """
        return AsyncClient(self._client.only(*fields))

    def drive(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the search of an experiment with `searcher.name: custom`, to be driven by this program, shown to users as `driver`."""
        return self._client.drive_async(experiment, driver)


def connect_async(address: Address | None = None) -> AsyncClient:
    """Return an asynchronous client of the platform at `address`, by default the platform that `discover` finds."""
    return AsyncClient(connect(address))
