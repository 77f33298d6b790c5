"""The platform from outside: `client = muster.client.connect()`, then `client.create_experiment(…)` and the like.

Calls raise `muster.errors`; answers are the frozen models of `muster.client.models`.
"""

from muster.client.client import Client, connect
from muster.client.settings import Address, discover

__all__ = ["Address", "Client", "connect", "discover"]
