"""Estimates of an experiment's cost, and their inputs: the current state of the pool, and earlier trials of the same code."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, JsonValue

from shared.ids import ExperimentId, PoolName, TrialId, WorkerId
from shared.messages.base import Query, Record
from shared.messages.pools import PoolView
from shared.messages.trial_specs import SlotKind, Thousandths
from shared.messages.workers import WorkerView

Basis = Literal["earlier_trials", "stated_model"]
"""Source of learning curves and step times: earlier trials of the same code, or the model that the documentation describes."""


class Spread(Record):
    """Distribution over simulations: 10th percentile (`low`), median (`middle`) and 90th percentile (`high`)."""

    low: float
    middle: float
    high: float


class RungTrials(Record):
    """Number of trials that reach a rung. `at`: the rung, in units of the search's time."""

    at: float
    trials: Spread


class ExperimentPlan(BaseModel):
    """Cost and duration of an experiment, estimated from several simulations.

    Durations, slot-hours and cost are None if the duration of a step is unknown.

    Attributes:
        on: Description of the machines.
        futures: Number of simulations.
        unit: Unit of a step: the search's `time_metric`, or `step`.
        trials: Trials created by the search.
        stopped: Trials stopped early.
        steps: Total steps trained.
        slots: Slots per trial.
        step_s: Duration of a step.
        waits_s: Time until the first trial gets its slots.
        took_s: Time from submission to end.
        earlier_runs, earlier_experiments: How many the estimate is based on.
        others_running, others_waiting: Other requests that hold or wait for slots of the pool.
    """

    on: str
    basis: Basis
    earlier_runs: int = 0
    earlier_experiments: int = 0
    others_running: int = 0
    others_waiting: int = 0
    futures: int
    unit: str
    trials: Spread
    stopped: Spread
    rungs: tuple[RungTrials, ...] = ()
    steps: Spread
    slots: float
    step_s: float | None = None
    slot_hours: Spread | None = None
    waits_s: Spread | None = None
    took_s: Spread | None = None
    price_per_slot_hour: float | None = None
    cost: Spread | None = None
    notes: tuple[str, ...] = ()


class PlanExperiment(Query[ExperimentPlan], owner="simulator", name="plan"):
    """Estimate what an experiment would cost on a pool and when it would end. Raises Rejected if a trial fits on no machine.

    Attributes:
        code_hash: Use earlier trials of this code; None: use none.
        cluster: Machines to plan for instead of a pool, in the format of `muster simulate`.
        whole: Assume an otherwise empty pool.
        step_s: Duration of a step; None: as in earlier trials.
        steps: Training steps of a trial; None: as in earlier trials, or as the search states.
        price_per_slot_hour: None: the price of the pool's machines.
        futures: Maximum number of simulations.
    """

    config: dict[str, JsonValue]
    code_hash: str | None = None
    pool: PoolName
    cluster: dict[str, JsonValue] | None = None
    whole: bool = False
    steps: int | None = None
    step_s: float | None = None
    price_per_slot_hour: float | None = None
    futures: int = 20


class OutlookRequest(Record):
    """An anonymized request for slots. `tenant`, `workspace` and `experiment` are numbers valid within one answer; the asker is 0.

    Attributes:
        count: Number of identical requests that wait one after the other.
        workers: Slots held on each worker; empty: the request waits.
        age_s: How long the request has held its slots, or waited.
        rest_s: Expected remaining time with slots (for a waiting request: total time with slots), as the 10th, 30th, 50th, 70th and 90th
            percentile. Empty: unknown.
    """

    tenant: int
    workspace: int = 0
    experiment: int
    priority: int
    weight: float = 1.0
    experiment_max_slots: int | None = None
    experiment_max_trials: int | None = None
    slots: int
    min_slots: int
    fraction: Thousandths = 0
    single_node: bool = False
    required_labels: dict[str, str] = {}
    excluded_workers: tuple[WorkerId, ...] = ()
    count: int = 1
    workers: dict[WorkerId, int] = {}
    age_s: float = 0.0
    rest_s: tuple[float, ...] = ()


class OutlookLimit(Record):
    """Slot limit of a workspace, or of a tenant if `workspace` is None."""

    tenant: int
    workspace: int | None = None
    guaranteed: int = 0
    maximum: int | None = None
    weight: float = 1.0


class OutlookWindow(Record):
    """A reservation of slots for a tenant or workspace, in seconds from now."""

    tenant: int
    workspace: int | None = None
    slots: int
    starts_in_s: float
    ends_in_s: float


class Outlook(BaseModel):
    """Current state of a pool: its workers, the requests that hold or wait for slots, and how long they probably will."""

    pool: PoolView
    workers: tuple[WorkerView, ...]
    limits: tuple[OutlookLimit, ...] = ()
    windows: tuple[OutlookWindow, ...] = ()
    requests: tuple[OutlookRequest, ...] = ()
    price_per_slot_hour: float | None = None


class GetOutlook(Query[Outlook], owner="scheduler", name="outlook"):
    """Return a pool's state as seen from one workspace of the asking tenant. Raises Rejected for an unknown pool."""

    pool: PoolName
    workspace: str


class EarlierRun(Record):
    """An earlier run of the requested code, with its validations in order.

    Attributes:
        outcome: As in `run.ended`; None: not reported.
        times: The trial's time at each validation, as the search would count it.
        at_ms: When each validation was reported (Unix milliseconds).
        values: The metric; NaN where it was not reported.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    number: int
    hyperparameters: dict[str, JsonValue]
    slots: float
    granted_at: datetime
    ended_at: datetime
    outcome: str | None = None
    times: tuple[float, ...]
    at_ms: tuple[int, ...]
    values: tuple[float, ...]


class Curves(BaseModel):
    """The newest ended runs, oldest first."""

    runs: tuple[EarlierRun, ...]


class GetCurves(Query[Curves], owner="registry", name="curves"):
    """Return learning curves and durations of earlier trials of this code.

    `time_metric` None: the step is the time. Runs that reported neither metric are left out.
    """

    code_hash: str
    metric: str
    time_metric: str | None = None


class PriorTrial(Record):
    """Result of a trial of an earlier experiment, as a warm start uses it. `time`: the trial's time when its search stopped it."""

    experiment: int
    trial: int
    point: dict[str, JsonValue]
    value: float
    time: float | None = None
    others: dict[str, float] = {}


class PriorObservationsReply(BaseModel):
    """Prior observations of a search: points to try first, and trials to learn from. `notes`: which of them cannot be used."""

    points: tuple[dict[str, JsonValue], ...] = ()
    known: tuple[PriorTrial, ...] = ()
    notes: tuple[str, ...] = ()


class GetPriorObservations(Query[PriorObservationsReply], owner="searcher", name="prior_observations"):
    """Return the prior observations that a search with this config takes from the experiments in its `warm_start`.

    Raises Rejected if its workspace has no such experiment.
    """

    config: dict[str, JsonValue]


class ProvidedPool(Record):
    """Machines that a pool's provider can rent: identical machines, between `minimum` and `maximum`.

    `rented`: workers that are rented now. `boot_s`: time from an order to a usable machine, measured on the newest ones; None: none yet.
    """

    pool: PoolName
    slots_per_instance: int
    slot_kind: SlotKind
    minimum: int
    maximum: int
    idle_timeout_s: float
    price_per_hour: float = 0.0
    labels: dict[str, str] = {}
    rented: tuple[WorkerId, ...] = ()
    boot_s: float | None = None


class ProvidedPools(BaseModel):
    pools: tuple[ProvidedPool, ...]


class GetProvided(Query[ProvidedPools], owner="provisioner", name="provided"):
    """Return the machines that providers can rent, and those that are rented now."""
