"""What one event changes. Reducers return it (`draft`), `Cluster.apply` alone makes it true."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.scheduler.core.state.facts import Fact
from services.scheduler.core.state.indexes.elastic.records import Report
from services.scheduler.core.state.indexes.pause_durations import Kind
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.pool import Path, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import SlotHold, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId


class SetExperimentPolicy(NamedTuple):
    """People have edited an experiment's part in the queue."""

    experiment: ExperimentId
    part: ExperimentPolicy


class NewQuota(NamedTuple):
    """What a tenant, or a workspace of one, may hold in a pool; None: nothing is said any more."""

    pool: PoolName
    path: Path
    quota: Quota | None


class SetReservation(NamedTuple):
    """Slots of a pool are booked for a window of time; None: no longer."""

    pool: PoolName
    id: UUID
    reservation: Reservation | None


class SetSpending(NamedTuple):
    """What was spent of budgets, by holder."""

    spending: Mapping[Path, BudgetSpending]


Rule = SetExperimentPolicy | NewQuota | SetReservation | SetSpending


class Changes:
    """New records, and what follows from them.

    Attributes:
        rules: What people have changed.
        workers: New records; `worker_rows`: those of which neighbours, and so the tables, learn something. `quiet_workers`: new records in
            which nothing differs that a plan looks at.
        holds, releases: What allocations occupy from now on, and what a run, or an allocation that belongs to none, occupies no more. A run
            with new shares occupies them by itself.
        runs, trials: New records; those of `lazy` may be saved with whatever is saved next.
        followed: Runs of which only the progress is new. It is known in memory only, and no plan depends on it.
        begun: Runs that hold what their shares say since then: usage is added up from it.
        held, paused, reports: What was learned: for how long a run held its slots, or stood still, and how an elastic trial trains.
        facts: What neighbours must learn, in order. `desired`: workers that must be sent what they should have.
    """

    __slots__ = (
        *("rules", "workers", "quiet_workers", "worker_rows", "holds", "releases"),
        *("runs", "followed", "begun", "trials", "lazy"),
        *("held", "paused", "reports", "facts", "desired"),
    )

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.workers: dict[WorkerId, Worker] = {}
        self.quiet_workers: dict[WorkerId, Worker] = {}
        self.worker_rows: dict[WorkerId, None] = {}
        self.holds: list[tuple[WorkerId, AllocationId, SlotHold]] = []
        self.releases: list[tuple[WorkerId, Run | AllocationId]] = []
        self.runs: dict[RunId, Run] = {}
        self.followed: dict[RunId, Run] = {}
        self.begun: list[tuple[Run, datetime]] = []
        self.trials: dict[TrialId, Trial] = {}
        self.lazy: set[RunId | TrialId] = set()
        self.held: list[tuple[PoolName, ExperimentId, int]] = []
        self.paused: list[tuple[ExperimentId, Kind, int]] = []
        self.reports: list[tuple[TrialId, Report]] = []
        self.facts: list[Fact] = []
        self.desired: dict[WorkerId, None] = {}
