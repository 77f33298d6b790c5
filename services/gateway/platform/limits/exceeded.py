"""The refusal of a request that exceeds a limit; it changes nothing and may be repeated."""

from typing import Literal

from muster.errors import Transient

Limit = Literal["rate", "tenant_concurrency", "replica_concurrency", "streams"]

RATE_LIMITED = "rate_limited"
"""The code of a tenant that sends too much (429)."""
OVERLOADED = "overloaded"
"""The code of a replica that has too much to do (503)."""


class LimitExceeded(Transient):
    """A request over a limit of its tenant, or of the replica.

    Attributes:
        limit: Which one, for metrics.
    """

    def __init__(self, limit: Limit, message: str, retry_after_s: float) -> None:
        code = OVERLOADED if limit == "replica_concurrency" else RATE_LIMITED
        super().__init__(message, retry_after_s, code)
        self.limit = limit
