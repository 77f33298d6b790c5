"""Causes of failed launches, each with its own back-off. A hold pauses an offer or all of its provider; others are tried meanwhile."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from services.provisioner.core.catalogue import Offer

Cause = Literal[
    "no_capacity",
    "quota",
    "throttled",
    "credentials",
    "bad_request",
    "never_joins",
    "joins_twice",
    "version",
    "unfit",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class LaunchRefusal:
    """Why a provider refused a launch, or why a machine is unusable. `reason` is shown to users and quotes the provider."""

    cause: Cause
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling delay from `first` to `longest`.

    Attributes:
        holds_provider: All offers of the provider are paused, not only this one.
        may_have_worked: The failed call may have taken effect, so it is repeated with the same id until its outcome
            is known, and never replaced by another launch.
    """

    first: timedelta
    longest: timedelta
    holds_provider: bool = False
    may_have_worked: bool = False

    def pause(self, failures: int) -> timedelta:
        """Return the delay after so many consecutive failures."""
        doublings = min(max(0, failures - 1), 30)
        return min(self.longest, self.first * 2.0**doublings)


_S = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
BACKOFFS: Mapping[Cause, Backoff] = {
    "no_capacity": Backoff(30 * _S, 10 * _MINUTE),
    "quota": Backoff(2 * _MINUTE, 60 * _MINUTE),
    "throttled": Backoff(_S, _MINUTE, holds_provider=True, may_have_worked=True),
    "credentials": Backoff(_MINUTE, 30 * _MINUTE, holds_provider=True),
    "bad_request": Backoff(10 * _MINUTE, 6 * 60 * _MINUTE),
    "never_joins": Backoff(5 * _S, 30 * _MINUTE),
    "joins_twice": Backoff(5 * _MINUTE, 60 * _MINUTE),
    "version": Backoff(10 * _MINUTE, 6 * 60 * _MINUTE, holds_provider=True),
    "unfit": Backoff(10 * _MINUTE, 6 * 60 * _MINUTE),
    "unknown": Backoff(0.5 * _S, _MINUTE, may_have_worked=True),
}
DISPLAYED_FOR = timedelta(minutes=10)
"""A hold that has expired is still shown for this long."""
FORGOTTEN_AFTER = timedelta(hours=6)
"""A hold that expired this long ago no longer lengthens the next one."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is paused: an offer of a provider, or with `kind` None all of its offers."""

    provider: str
    kind: str | None = None
    zone: str | None = None
    purchase: str | None = None

    def covers(self, offer: Offer) -> bool:
        if self.provider != offer.kind.provider:
            return False
        mine = (self.kind, self.zone, self.purchase)
        return self.kind is None or mine == (offer.kind.name, offer.zone, offer.purchase)

    @property
    def label(self) -> str:
        if self.kind is None:
            return self.provider
        spot = "spot " if self.purchase == "spot" else ""
        return f"{spot}{self.kind}" + (f" in {self.zone}" if self.zone else "")


@dataclass(frozen=True, slots=True)
class LaunchBackoff:
    """No machine of `scope` is launched before `until`."""

    scope: Scope
    cause: Cause
    reason: str
    failures: int
    since: datetime
    until: datetime

    def is_on(self, now: datetime) -> bool:
        return now < self.until

    @property
    def message(self) -> str:
        """The message in a pool's fault and for a waiting trial."""
        cause = self.cause.replace("_", " ")
        return f"{self.scope.label}: {cause}, next attempt at {self.until:%H:%M:%S} UTC: {self.reason}"


def scope_of(offer: Offer, cause: Cause) -> Scope:
    if BACKOFFS[cause].holds_provider:
        return Scope(offer.kind.provider)
    return Scope(offer.kind.provider, offer.kind.name, offer.zone, offer.purchase)


def on_refused(
    before: LaunchBackoff | None, offer: Offer, refusal: LaunchRefusal, now: datetime
) -> LaunchBackoff:
    """Return the hold after a refusal; `before` is the earlier one of the same scope, expired or not.

    Simultaneous refusals count once, because calls in flight at the same time fail for the same reason.
    """
    backoff = BACKOFFS[refusal.cause]
    is_same = before is not None and before.cause == refusal.cause and now - before.until < FORGOTTEN_AFTER
    if before is not None and is_same and before.is_on(now):
        return replace(before, reason=refusal.reason)
    failures = before.failures + 1 if before is not None and is_same else 1
    pause = max(backoff.pause(failures), refusal.retry_after or timedelta())
    return LaunchBackoff(
        scope_of(offer, refusal.cause), refusal.cause, refusal.reason, failures, now, now + pause
    )


def is_cleared(cause: Cause, has_joined: bool) -> bool:
    """Whether a successful launch clears this cause. Some causes clear only when the machine has joined."""
    return has_joined or cause not in ("never_joins", "joins_twice", "version", "unfit")


def is_held(offer: Offer, holds: Iterable[LaunchBackoff], now: datetime) -> bool:
    return any(hold.is_on(now) and hold.scope.covers(offer) for hold in holds)


def fault_of(holds: Iterable[LaunchBackoff], offers: Iterable[Offer], now: datetime) -> str | None:
    """Return what keeps a pool with these offers from growing, in one line; None if nothing does.

    Expired holds are shown until a launch succeeds or for a while, because it is not yet known whether the cause
    persists.
    """
    mine = list(offers)
    listed = [
        hold
        for hold in holds
        if now < hold.until + DISPLAYED_FOR and any(hold.scope.covers(offer) for offer in mine)
    ]
    return "; ".join(hold.message for hold in sorted(listed, key=lambda hold: hold.scope.label)) or None
