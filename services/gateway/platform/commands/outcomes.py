"""How a long operation is seen to have worked: each row of the table names its own way, and `long_operations` asks it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.schema import Resource
from shared.messages.pools import ClusterView


@dataclass(frozen=True, slots=True)
class TenantOutcome:
    """Of an operation on a tenant's own: found in the gateway's tables, by the row of `ordered`."""

    find: Callable[[AsyncConnection, Any], Awaitable[Resource | None]]
    """The resource as it is now; None while the operation has not worked."""


@dataclass(frozen=True, slots=True)
class SiteOutcome:
    """Of an operation on the site's machines: found in the scheduler's view, by what was wanted."""

    find: Callable[[Any, ClusterView], Resource | None]
    """The resource as it is now; None while the operation has not worked."""


OperationOutcome = TenantOutcome | SiteOutcome
