"""What an instance is after an effect: called for, started again, or not. Neighbours: `plan`, which asks for effects; whoever performs them."""

from dataclasses import replace
from datetime import datetime, timedelta

from services.provisioner.core.instances.instance import Instance, InstanceTrigger, moved
from services.provisioner.core.instances.intents import Launched
from services.provisioner.core.instances.refusals import BACKOFFS

LASTS = timedelta(seconds=5)
"""A worker that ran this long after its last start has started well."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


def on_launched(instance: Instance, launched: Launched, now: datetime) -> Instance:
    """What a call made of one of its machines. What was refused for certain ends, so that another is tried elsewhere; what may have been made is
    asked for again by the same call."""
    refused = launched.refused
    if instance.worker in launched.placed:
        return on_placed(instance, now, launched.placed[instance.worker])
    if refused is None:
        return on_failed_attempt(instance, now, "the provider has not brought it yet")
    if BACKOFFS[refused.cause].may_have_worked:
        return on_failed_attempt(instance, now, refused.reason)
    return on_refused(instance, now, refused.reason)


def on_placed(instance: Instance, now: datetime, external_id: str | None = None) -> Instance:
    """The provider has made the machine; it may have joined before this is recorded."""
    after = moved(instance, InstanceTrigger.ORDERED, now)
    return after if external_id is None else replace(after, external_id=external_id)


def on_refused(instance: Instance, now: datetime, reason: str) -> Instance:
    """It was not made, and will not be; another may be asked for elsewhere."""
    return moved(instance, InstanceTrigger.REFUSED, now, reason)


def on_started_again(instance: Instance, now: datetime) -> Instance:
    """Its worker had ended and was started again, which counts as an attempt until it has lasted. One that lasted was mostly seen to
    (`_has_lasted`), and then has no `retry_at`; if it was not, it ended long after it could have been started again."""
    has_lasted = instance.retry_at is None or now - instance.retry_at > LASTS
    attempts = 1 if has_lasted else instance.attempts + 1
    return _given_time(_put_off(instance, attempts, now, instance.reason), now)


def on_kicked(instance: Instance, now: datetime) -> Instance:
    """Its worker hung and was killed, so that it is started again."""
    return _given_time(replace(instance, reason="its worker hung", version=instance.version + 1), now)


def on_failed_attempt(instance: Instance, now: datetime, reason: str) -> Instance:
    """An effect failed; it is tried again, later and later."""
    return _put_off(instance, instance.attempts + 1, now, reason)


def pause_after(failures: int) -> timedelta:
    """How long to wait after so many failures in a row."""
    seconds = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(failures, 20))
    return timedelta(seconds=seconds if failures > 1 else _FIRST_PAUSE_S)


def _given_time(instance: Instance, now: datetime) -> Instance:
    """A worker that begins again has its time to be heard."""
    return replace(instance, silent_since=now) if instance.silent_since is not None else instance


def _put_off(instance: Instance, attempts: int, now: datetime, reason: str | None) -> Instance:
    return replace(
        instance,
        attempts=attempts,
        retry_at=now + pause_after(attempts),
        reason=reason,
        version=instance.version + 1,
    )
