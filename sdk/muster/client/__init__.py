"""The platform from outside: `client = muster.client.connect()`, then `client.experiments.create(…)` and the like; `connect_async` for programs that are `async`.

Calls raise `muster.errors`; answers are the frozen models of `muster.client.models`.
"""

from muster.client.async_client import AsyncClient, connect_async
from muster.client.client import Client, connect
from muster.client.settings import Address, discover

__all__ = ["Address", "AsyncClient", "Client", "connect", "connect_async", "discover"]
