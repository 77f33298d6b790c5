"""The error for a request that exceeds a limit. It has changed nothing and may be repeated."""

from typing import Literal

from muster.errors import Transient

Limit = Literal["rate", "tenant_concurrency", "replica_concurrency", "streams"]

RATE_LIMITED = "rate_limited"
"""Error code for a tenant that exceeds a limit (429)."""
OVERLOADED = "overloaded"
"""Error code for an overloaded replica (503)."""


class LimitExceeded(Transient):
    """A request over a limit of its tenant, or of the replica.

    Attributes:
        limit: the exceeded limit, for metrics.
    """

    def __init__(self, limit: Limit, message: str, retry_after_s: float) -> None:
        code = OVERLOADED if limit == "replica_concurrency" else RATE_LIMITED
        super().__init__(message, retry_after_s, code)
        self.limit = limit
