"""Quotas on open experiments, requests per second, and stored bytes of workspaces.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.quotas` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.quotas import HandwrittenQuotas


class Quotas(HandwrittenQuotas):
    """Quotas on open experiments, requests per second, and stored bytes of workspaces."""

    def list(self) -> Sequence[models.WorkQuota]:
        """List the quotas of the caller's tenant and its workspaces. Operators see the quotas of all tenants."""
        return self._transport.get(models.WorkQuotas, "/v1/quotas").items


class AsyncQuotas(AsyncAPIResource[Quotas]):
    """`Quotas`, awaited."""

    set = awaited(Quotas.set)
    list = awaited(Quotas.list)
