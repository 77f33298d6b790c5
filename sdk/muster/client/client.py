"""The client: one attribute per resource, one method per operation."""

from types import TracebackType
from typing import Self

from muster.client.custom_search import AsyncSearch, Search
from muster.client.http.transport import Reference, Transport
from muster.client.resources import Resources
from muster.client.resources.platform import Platform
from muster.client.settings import Address, discover


def connect(address: Address | None = None) -> "Client":
    """Return a client of the platform at `address`, by default the platform that `discover` finds."""
    return Client(Transport(address or discover()))


class Client(Platform, Resources):
    """A client of one platform, with an attribute per resource (`Resources`). Thread-safe. Close it, or use it in `with`."""

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
        """Return a client that reads only these fields: `client.only("number", "best.value").experiments.list()`.

        In lists, the fields are those of the items. Reading an omitted field raises AttributeError. Calls that change something,
        streams and tables are not affected.
        """
        return Client(self._transport.only(*fields))

    def drive(self, experiment: Reference, driver: str | None = None) -> Search:
        """Return the search of an experiment with `searcher.name: custom`, to be driven by this program, shown to users as `driver`."""
        return Search(self._transport, experiment, driver)

    def drive_async(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the search for an `async` program; see `drive`."""
        return AsyncSearch(self._transport, experiment, driver)
