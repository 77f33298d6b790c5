"""Client of the platform: `client = muster.client.connect()`, then e.g. `client.experiments.create(…)`; use `connect_async` in `async` programs.

Calls raise errors of `muster.errors` and return frozen models of `muster.client.models`.
"""

from muster.client.async_client import AsyncClient, connect_async
from muster.client.client import Client, connect
from muster.client.settings import Address, discover

__all__ = ["Address", "AsyncClient", "Client", "connect", "connect_async", "discover"]
