"""An instance after an effect: launched, restarted, or failed. See `plan`, which requests effects, and `reconcile/driver_calls`."""

from dataclasses import replace
from datetime import datetime, timedelta

from services.provisioner.core.instances.instance import Instance, InstanceTrigger, moved
from services.provisioner.core.instances.launches import Launched
from services.provisioner.core.instances.refusals import BACKOFFS

LASTS = timedelta(seconds=5)
"""A worker that ran this long after its last start counts as started."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


def on_launched(instance: Instance, launched: Launched, now: datetime) -> Instance:
    """Return the instance after its launch.

    A certain refusal ends it, so that another offer is tried. If the machine may exist, the same launch is repeated.
    """
    refused = launched.refused
    if instance.worker in launched.placed:
        return on_placed(instance, now, launched.placed[instance.worker])
    if refused is None:
        return on_failed_attempt(instance, now, "the provider has not created the machine yet")
    if BACKOFFS[refused.cause].may_have_worked:
        return on_failed_attempt(instance, now, refused.reason)
    return on_refused(instance, now, refused.reason)


def on_placed(instance: Instance, now: datetime, external_id: str | None = None) -> Instance:
    """Return the instance after the provider created its machine. The worker may already have joined."""
    after = moved(instance, InstanceTrigger.ORDERED, now)
    return after if external_id is None else replace(after, external_id=external_id)


def on_refused(instance: Instance, now: datetime, reason: str) -> Instance:
    """Return the instance after a certain refusal; another offer may be tried."""
    return moved(instance, InstanceTrigger.REFUSED, now, reason)


def on_started_again(instance: Instance, now: datetime) -> Instance:
    """Return the instance after its worker was restarted.

    The start counts as an attempt until the worker has lasted. A worker that lasted usually has no `retry_at` (see
    `_has_lasted` of `core/planning/plan`). If it still has one, it ended long after it could have been restarted.
    """
    has_lasted = instance.retry_at is None or now - instance.retry_at > LASTS
    attempts = 1 if has_lasted else instance.attempts + 1
    return _given_time(_put_off(instance, attempts, now, instance.reason), now)


def on_kicked(instance: Instance, now: datetime) -> Instance:
    """Return the instance after its hung worker was killed, so that it restarts."""
    return _given_time(
        replace(instance, reason="the worker hung and was killed", version=instance.version + 1), now
    )


def on_failed_attempt(instance: Instance, now: datetime, reason: str) -> Instance:
    """Return the instance after a failed effect, which is retried with increasing delays."""
    return _put_off(instance, instance.attempts + 1, now, reason)


def pause_after(failures: int) -> timedelta:
    """Return the delay after so many consecutive failures."""
    seconds = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(failures, 20))
    return timedelta(seconds=seconds if failures > 1 else _FIRST_PAUSE_S)


def _given_time(instance: Instance, now: datetime) -> Instance:
    """Restart the heartbeat timeout of a worker that starts again."""
    return replace(instance, silent_since=now) if instance.silent_since is not None else instance


def _put_off(instance: Instance, attempts: int, now: datetime, reason: str | None) -> Instance:
    return replace(
        instance,
        attempts=attempts,
        retry_at=now + pause_after(attempts),
        reason=reason,
        version=instance.version + 1,
    )
