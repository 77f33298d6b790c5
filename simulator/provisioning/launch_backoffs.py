"""Recorded refusals of the provider, like `services/provisioner/store/launch_backoffs`."""

from datetime import datetime

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.refusals import (
    LaunchBackoff,
    LaunchRefusal,
    Scope,
    is_cleared,
    on_refused,
    scope_of,
)


class Holds:
    """One entry per scope."""

    def __init__(self) -> None:
        self._by_scope: dict[Scope, LaunchBackoff] = {}

    @property
    def all(self) -> list[LaunchBackoff]:
        return list(self._by_scope.values())

    def take(self, offer: Offer, refusal: LaunchRefusal, now: datetime) -> None:
        """Record a refusal."""
        scope = scope_of(offer, refusal.cause)
        self._by_scope[scope] = on_refused(self._by_scope.get(scope), offer, refusal, now)

    def clear(self, offer: Offer, has_joined: bool) -> None:
        """Clear entries after a machine of the offer has arrived."""
        for scope, hold in list(self._by_scope.items()):
            if scope.covers(offer) and is_cleared(hold.cause, has_joined):
                del self._by_scope[scope]
