"""The scheduler's settings: `MUSTER_SCHEDULER__…`, in addition to those of every service."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from shared.settings import PostgresSettings, Section, ServiceSettings


def _or_none(given: object) -> object:
    """Accept `none` for null, as `muster pool set` does, because environment variables have no null."""
    return None if given == "none" else given


class PoolSection(Section):
    """The policy of the pool `default` (see `core/state/records/pool`). `auto` accepts workers with any kind of
    slot. `quantum_s` may be `none`. `trusted`: it serves the tenant `default` only, and its workers need no sandbox."""

    kind: Literal["auto", "cuda", "rocm", "cpu"] = "auto"
    preemption: bool = True
    exclusive: bool = True
    auxiliary_per_worker: int = Field(100, ge=0)
    default_priority: int = Field(42, ge=1, le=99)
    order: Literal["fifo", "priority", "fair_share"] = "fair_share"
    ageing_s: float | None = Field(None, gt=0)
    half_life_s: float = Field(86_400.0, ge=10)
    min_run_s: float = Field(0.0, ge=0)
    max_preemptions: int | None = Field(None, ge=0)
    quantum_s: Annotated[Annotated[float, Field(ge=10)] | None, BeforeValidator(_or_none)] = 600.0
    defragment: bool = False
    elastic: bool = True
    topology: tuple[str, ...] = ()
    placement: Literal["best_fit", "spread"] = "best_fit"
    trusted: bool = False


class SchedulerSection(Section):
    """`worker_issuer_file` holds the scoped signing key for workers; `worker_nats_url` is the address at which
    they reach the bus; usage can be queried for the last `keep_usage_days`."""

    worker_issuer_file: Path
    worker_nats_url: str | None = None
    keep_usage_days: int = Field(400, ge=1)
    default_pool: PoolSection = PoolSection()


class Settings(ServiceSettings):
    """The process's settings from its environment."""

    postgres: PostgresSettings
    scheduler: SchedulerSection
