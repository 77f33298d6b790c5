"""Instances and policies in one line each."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from services.provisioner.core.instance import Instance, State, worker_of
from services.provisioner.core.sizing import Policy
from shared.ids import InstanceId, PoolName

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
POOL = PoolName("default")
_OPEN = {State.READY}


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def policy(minimum: int = 1, maximum: int = 4, slots: int = 1, idle_s: float = 120) -> Policy:
    return Policy(POOL, "local", minimum, maximum, slots, "cpu", seconds(idle_s), seconds(300))


def instance(
    number: int, state: State = State.READY, since: datetime = LONG_AGO, **facts: object
) -> Instance:
    key = InstanceId(UUID(int=number))
    known: dict[str, object] = {"is_open": state in _OPEN, "seat": number, "slots": 1} | facts
    return Instance(
        id=key,
        pool=POOL,
        worker=worker_of(key),
        driver="local",
        kind="cpu",
        price_per_hour=0.0,
        state=state,
        since=since,
        **known,  # type: ignore[arg-type]
    )
