"""The client: one attribute for each resource, one method for each operation."""

from types import TracebackType
from typing import Self

from muster.client.custom_search import AsyncSearch, Search
from muster.client.http.transport import Reference, Transport
from muster.client.resources import Resources
from muster.client.resources.platform import Platform
from muster.client.settings import Address, discover


def connect(address: Address | None = None) -> "Client":
    """Return a client of the platform at `address`, by default of the one that `discover` finds."""
    return Client(Transport(address or discover()))


class Client(Platform, Resources):
    """A caller's view of one platform, with an attribute for each resource (`Resources`); safe for use by several threads. Close it, or use it in `with`."""

    def __init__(self, transport: Transport) -> None:
        Platform.__init__(self, transport)
        Resources.__init__(self, transport)
        self.address = transport.address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def only(self, *fields: str) -> "Client":
        """Return the same client for reading these fields alone: `client.only("number", "best.value").experiments.list()`.

        Of what is listed they are fields of the items. What was not asked for is not there: to read it raises AttributeError.
        What changes something, streams and tables answer as ever.
        """
        return Client(self._transport.only(*fields))

    def drive(self, experiment: Reference, driver: str | None = None) -> Search:
        """Return the search of an experiment whose searcher is `custom`, to be driven by this program, which people see as `driver`."""
        return Search(self._transport, experiment, driver)

    def drive_async(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the same for a program that is `async`."""
        return AsyncSearch(self._transport, experiment, driver)
