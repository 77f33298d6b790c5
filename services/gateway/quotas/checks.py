"""Refuses what a quota leaves no room for."""

from collections.abc import Mapping

from muster.errors import Conflict
from services.gateway.platform.auth.grants import Scope
from services.gateway.quotas import store
from shared.bus import Unit


async def check_open(unit: Unit, most: Mapping[str, int]) -> None:
    """Raises Conflict where one more experiment would be too many. The tenant's counter is held: nobody adds one meanwhile.

    Args:
        most: of open ones, by workspace; the tenant's own as "".
    """
    for place, limit in most.items():
        count = await store.count_open(unit.connection, place or None)
        if count >= limit:
            raise Conflict(
                "too_many_experiments",
                f"{Scope(place or None)} has {count} experiments that are not over, and may have {limit}",
                hint="wait until one has ended, or end one: `muster experiment list --state active --state paused`",
            )
