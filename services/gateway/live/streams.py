"""How many streams a tenant has open here: each holds memory and a place, and all places are not one tenant's."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from muster.errors import Transient
from shared.ids import TenantId

_RETRY_AFTER_S = 5.0


class OpenStreams:
    """Counts them, by replica."""

    def __init__(self, most_of_tenant: int) -> None:
        self._most = most_of_tenant
        self._open: Counter[TenantId] = Counter()

    @contextmanager
    def one(self, tenant: TenantId) -> Iterator[None]:
        """Around one stream. Raises Transient (`rate_limited`) where the tenant has too many."""
        if self._open[tenant] >= self._most:
            told = f"your tenant has {self._most} streams open here; close some, or follow several things with one"
            raise Transient(told, retry_after_s=_RETRY_AFTER_S, code="rate_limited")
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
