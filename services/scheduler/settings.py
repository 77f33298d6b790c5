"""The scheduler's settings: `MUSTER_SCHEDULER__…`, in addition to those of every service."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from shared.settings import PostgresSettings, Section, ServiceSettings


def _or_none(given: object) -> object:
    """Accept `none` for null, as `muster pool set` does, because environment variables have no null."""
    return None if given == "none" else given


class PoolSection(Section):
    """The policy of the pool `default` (see `core/state/records/pool`).

    Attributes:
        kind: Kind of its slots; `auto` accepts workers with any kind.
        preemption: Whether a waiting trial may preempt runs that rank below it.
        exclusive: Whether a machine serves one tenant at a time.
        auxiliary_per_worker: Maximum number of runs without slots on one worker.
        default_priority: Priority of experiments that set none, 1 to 99; 1 is served first.
        order: Order of waiting trials: by arrival, priority, or fair shares of tenants.
        ageing_s: Waiting time in which a trial gains one priority level, with the order `priority`; not set: never.
        half_life_s: Time after which past usage counts half, with the order `fair_share`.
        min_run_s: A run is not preempted before this time.
        max_preemptions: How often a trial is preempted at most; not set: no limit.
        quantum_s: A run that has had its slots for this long, and has saved a checkpoint, yields them to a waiting peer; `none`: never.
        defragment: Whether runs are moved so that enough free slots come together for a waiting trial.
        elastic: Whether idle slots are given to elastic runs.
        topology: Label keys from narrow to wide, such as `["rack", "zone"]`. A gang stays within one domain if possible.
        placement: A run gets the fullest machine that fits (`best_fit`) or the emptiest (`spread`).
        trusted: Whether it serves the tenant `default` only, so that its workers need no sandbox.
    """

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
    """Settings of the scheduler.

    Attributes:
        worker_issuer_file: The scoped signing key for credentials of workers, from `muster keys init`.
        worker_nats_url: The address at which workers reach the bus. Default: `MUSTER_NATS__URL`.
        keep_usage_days: How long usage can be queried.
    """

    worker_issuer_file: Path
    worker_nats_url: str | None = None
    keep_usage_days: int = Field(400, ge=1)
    default_pool: PoolSection = PoolSection()


class Settings(ServiceSettings):
    """The process's settings from its environment."""

    postgres: PostgresSettings
    scheduler: SchedulerSection
