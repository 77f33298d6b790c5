"""What an experiment would cost, and what that is reckoned from: the pool as it is now, and earlier trials of the same code."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, JsonValue

from shared.ids import ExperimentId, PoolName, TrialId, WorkerId
from shared.messages.base import Query, Record
from shared.messages.pools import PoolView
from shared.messages.specs import SlotKind, Thousandths
from shared.messages.workers import WorkerView

Basis = Literal["earlier_trials", "stated_model"]
"""From what learning curves and times come: earlier trials of the same code, or a model that the documentation states."""


class Spread(Record):
    """In eight of ten futures between `low` and `high`; `middle` is the median."""

    low: float
    middle: float
    high: float


class RungTrials(Record):
    """How many trials come as far as a rung; `at` is in the units of the search's time."""

    at: float
    trials: Spread


class ExperimentPlan(BaseModel):
    """What an experiment comes to, in several futures. Where it is not known how long a step takes, times, slot-hours and cost are None.

    Attributes:
        on: The machines, in words.
        unit: What a step is: the search's `time_metric`, or `step`.
        trials: Made by the search; `stopped` of them before their time.
        steps: Trained in all.
        slots: Of one trial.
        step_s: What a step takes.
        waits_s: Until the first trial has its slots; `took_s`: from the submission to the end.
        earlier_runs, earlier_experiments: How many the answer is made from.
        others_running, others_waiting: Requests that have slots of the pool now, or wait for some.
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
    """What would this experiment cost on this pool, and when would it end? Raises Rejected where a trial fits nowhere.

    Attributes:
        code_hash: Of whose earlier trials the answer is made; None: of none.
        cluster: Machines to plan for, as `muster simulate` takes them, instead of a pool.
        whole: As if nothing else ran in the pool.
        step_s: What a step takes, and `steps`: how long a trial trains; None: as earlier trials show, or the search says.
        price_per_slot_hour: None: as the pool's machines cost.
        futures: How often the search is played at most.
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
    """Somebody's request for slots. Whose it is stands as a number that means something within one answer only; the asker is 0.

    Attributes:
        count: So many alike, waiting one behind the other.
        workers: How many slots it holds where; empty: it waits.
        age_s: So long it has held them, or waited.
        rest_s: How much longer it will hold slots (one that waits: how long, once it has some): the 10th, 30th, 50th, 70th and 90th of 100
            cases. Empty: nothing is known.
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
    part: Thousandths = 0
    single_node: bool = False
    required_labels: dict[str, str] = {}
    excluded_workers: tuple[WorkerId, ...] = ()
    count: int = 1
    workers: dict[WorkerId, int] = {}
    age_s: float = 0.0
    rest_s: tuple[float, ...] = ()


class OutlookLimit(Record):
    """What a tenant may hold (`workspace` None), or a workspace of one."""

    tenant: int
    workspace: int | None = None
    guaranteed: int = 0
    maximum: int | None = None
    weight: float = 1.0


class OutlookWindow(Record):
    """Slots booked for a tenant or a workspace of one, in seconds from now."""

    tenant: int
    workspace: int | None = None
    slots: int
    begins_s: float
    ends_s: float


class Outlook(BaseModel):
    """A pool as it is now: what stands, who holds and waits for what, and how long that will probably be so."""

    pool: PoolView
    workers: tuple[WorkerView, ...]
    limits: tuple[OutlookLimit, ...] = ()
    windows: tuple[OutlookWindow, ...] = ()
    requests: tuple[OutlookRequest, ...] = ()
    price_per_slot_hour: float | None = None


class GetOutlook(Query[Outlook], owner="scheduler", name="outlook"):
    """A pool as one workspace of the asking tenant finds it. Raises Rejected for a pool that does not exist."""

    pool: PoolName
    workspace: str


class EarlierRun(Record):
    """A run of the code that was asked for, with its validations in order.

    Attributes:
        outcome: As `run.ended` told it; None: it was not told.
        times: What the search would count as the trial's time at each validation; `at_ms`: when it was reported (Unix).
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
    """The newest runs that have ended, oldest first."""

    runs: tuple[EarlierRun, ...]


class GetCurves(Query[Curves], owner="registry", name="curves"):
    """How trials of this code learned, and how long they took. `time_metric` None: the step is the time. Runs that reported neither are
    left out."""

    code_hash: str
    metric: str
    time_metric: str | None = None


class PriorTrial(Record):
    """What a trial of an earlier experiment came to, as a warm start takes it; `time`: how far it was judged when its search stopped it."""

    experiment: int
    trial: int
    point: dict[str, JsonValue]
    value: float
    time: float | None = None
    others: dict[str, float] = {}


class PriorObservationsReply(BaseModel):
    """What a search knows of earlier experiments before its first trial: points to try first, and trials to learn from. `notes`: what of
    them serves for nothing."""

    points: tuple[dict[str, JsonValue], ...] = ()
    known: tuple[PriorTrial, ...] = ()
    notes: tuple[str, ...] = ()


class GetPriorObservations(Query[PriorObservationsReply], owner="searcher", name="warmth"):
    """What would a search of this config know of the experiments that its `warm_start` names? Raises Rejected where there is no such
    experiment in its workspace."""

    config: dict[str, JsonValue]


class ProvidedPool(Record):
    """What the provider of a pool brings: machines alike, from `minimum` to `maximum` of them. `boot_s`: from an order to a machine that
    takes work, as the newest have shown; None: none has come yet."""

    pool: PoolName
    slots_per_instance: int
    slot_kind: SlotKind
    minimum: int
    maximum: int
    idle_timeout_s: float
    price_per_hour: float = 0.0
    labels: dict[str, str] = {}
    standing: tuple[WorkerId, ...] = ()
    boot_s: float | None = None


class ProvidedPools(BaseModel):
    pools: tuple[ProvidedPool, ...]


class GetProvided(Query[ProvidedPools], owner="provisioner", name="provided"):
    """What the provider can bring, and what of it stands."""
