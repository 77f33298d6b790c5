"""What a person is told, when submitting, of an elastic trial's chances."""

from services.scheduler.core.placement.fit import Reach
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.trial import Needs


def lending_warnings(policy: PoolPolicy, needs: Needs, reach: Reach) -> tuple[str, ...]:
    """Why a trial that can start will not get all it would take; nothing where it may, or is not elastic."""
    if not needs.is_elastic:
        return ()
    told = []
    if reach.is_final and reach.slots < needs.max_slots:
        told.append(
            f"slots for a trial: up to {needs.max_slots} asked for; pool {policy.name} can have {reach.slots} {reach.where}"
        )
    if not policy.elastic:
        told.append(
            f"pool {policy.name} lends no idle slots: a trial begins with {needs.max_slots} slots where they are free,"
            f" else with {needs.min_slots}, and keeps what it began with (`muster pool set {policy.name} --elastic` changes that)"
        )
    return tuple(told)
