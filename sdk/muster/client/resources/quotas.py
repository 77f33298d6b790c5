"""How many experiments may be open at once, how many requests a second may be sent, and what a workspace may store.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.quotas` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.quotas import HandwrittenQuotas


class Quotas(HandwrittenQuotas):
    """How many experiments may be open at once, how many requests a second may be sent, and what a workspace may store."""

    def list(self) -> Sequence[models.WorkQuota]:
        """Lists what the caller's tenant and its workspaces may do at once; an operator sees every tenant's own."""
        return self._transport.get(models.WorkQuotas, "/v1/quotas").items


class AsyncQuotas(AsyncAPIResource[Quotas]):
    """`Quotas`, awaited."""

    set = awaited(Quotas.set)
    list = awaited(Quotas.list)
