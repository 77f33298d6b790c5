"""Finders for the outcomes of long operations. Each row of the table of operations names one; `long_operations` calls it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.schema import Resource
from shared.messages.pools import ClusterView


@dataclass(frozen=True, slots=True)
class TenantOutcome:
    """Finds the outcome of an operation on a tenant's entity in the gateway's tables, by the row of `long_operation`."""

    find: Callable[[AsyncConnection, Any], Awaitable[Resource | None]]
    """Return the current resource; None while the operation has not taken effect."""


@dataclass(frozen=True, slots=True)
class SiteOutcome:
    """Finds the outcome of an operation on the site's machines in the scheduler's view, by the desired state."""

    find: Callable[[Any, ClusterView], Resource | None]
    """Return the current resource; None while the operation has not taken effect."""


OperationOutcome = TenantOutcome | SiteOutcome
