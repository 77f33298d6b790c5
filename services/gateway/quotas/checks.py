"""Checks requests against quotas."""

from collections.abc import Mapping

from muster.errors import Conflict
from services.gateway.platform.auth.grants import Scope
from services.gateway.quotas import store
from shared.bus import Unit


async def check_open(unit: Unit, most: Mapping[str, int]) -> None:
    """Raise Conflict if one more open experiment would exceed a quota.

    The caller holds the lock on the tenant's counter, so no other experiment is added concurrently.

    Args:
        most: maximum number of open experiments by workspace; "" is the whole tenant.
    """
    for place, limit in most.items():
        count = await store.count_open(unit.connection, place or None)
        if count >= limit:
            raise Conflict(
                "too_many_experiments",
                f"{Scope(place or None)} has reached its quota of open experiments ({count} of {limit})",
                hint="wait until an experiment ends, or end one; `muster experiment list --state active --state paused` lists them",
            )
